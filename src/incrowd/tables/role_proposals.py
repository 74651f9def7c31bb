"""Propose roles and hierarchies from a column's name and values, with reasons."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.tables.column_types import ColumnKind, kind_of, labels_of, parse_numbers
from incrowd.tables.table import Table

_EMAIL = "an e-mail address"
_PERSON = "a person's name"
_NUMBER = "a number that stands for one person"

_IDENTIFYING = {
    _EMAIL: "email e-mail mail emailaddress courriel correo",
    "a telephone number": (
        "phone telephone tel mobile cellphone phonenumber fax telefon telefonnummer handy "
        "handynummer portable telefono movil"
    ),
    "a home address": (
        "address addr street house_number homeaddress adresse anschrift strasse hausnummer rue "
        "direccion calle domicilio"
    ),
    _PERSON: (
        "surname lastname last_name firstname first_name middle_name forename fullname full_name "
        "given_name family_name maiden_name nickname username user_name login vorname nachname "
        "familienname geburtsname prenom patronyme apellido apellidos"
    ),
    _NUMBER: (
        "ssn social_security nhs mrn medical_record record_number insurance_number insurance_id "
        "health_card passport driving_licence driver_license licence_plate license_plate iban "
        "account_number credit_card card_number tax_id tax_number uuid guid patientid personid "
        "userid customerid memberid studentid employeeid identifier identification reisepass "
        "personalausweis ausweis versicherungsnummer sozialversicherungsnummer patientennummer "
        "personalnummer kontonummer steuernummer fallnummer kundennummer kennung identifiant "
        "matricule nir numero_de_securite dni nif nie curp cedula identificador matricula"
    ),
    "an address on the network": "ip ip_address mac_address url website homepage cookie device_id",
}

_SENSITIVE = {
    "health": (
        "diagnosis diagnoses diagnose diagnosed diagnostic disease diseases illness icd symptom "
        "symptoms treatment therapy medication medicine drug drugs procedure hiv blood "
        "cholesterol disability pregnant pregnancy genetic genome psychiatric medical health "
        "krankheit erkrankung befund behandlung medikament therapie schwangerschaft maladie "
        "diagnostique traitement medicament enfermedad diagnostico tratamiento medicamento salud "
        "sante gesundheit"
    ),
    "money": (
        "salary income wage wages earnings pay wealth assets debt loan credit balance tax capital "
        "pension gehalt einkommen lohn verdienst vermoegen schulden rente salaire revenu revenus "
        "dette salario sueldo ingreso ingresos deuda"
    ),
    "belief": (
        "religion religious faith belief confession konfession glaube political politics vote "
        "voting union croyance politique politica politico partei"
    ),
    "private life": (
        "sexual orientation crime criminal conviction offense offence arrest violence abuse "
        "straftat vorstrafe delito crimen infraction"
    ),
}

_QUASI = {
    "age": "age alter edad",
    "birth": (
        "birth birthday birthdate dateofbirth dob yob born geburt geburtsdatum geburtstag "
        "geburtsjahr geburtsort naissance nacimiento"
    ),
    "sex": "sex gender geschlecht sexe genre sexo genero",
    "postal code": "zip zipcode postcode postal postalcode plz postleitzahl",
    "family": (
        "marital maritalstatus married civil_status civil relationship household family children "
        "spouse familienstand haushalt kinder matrimonial etat_civil menage enfants estado_civil "
        "hogar hijos"
    ),
    "place": (
        "city town village county state region country province district municipality place "
        "location residence hospital latitude longitude lat lon lng native stadt ort wohnort land "
        "bundesland landkreis kreis gemeinde ville commune pays departement ciudad pais provincia "
        "municipio estado"
    ),
    "origin": (
        "race ethnicity ethnic nationality citizenship language origin immigrant "
        "staatsangehoerigkeit nationalitaet sprache herkunft nationalite langue origine "
        "nacionalidad idioma raza etnia"
    ),
    "education": (
        "education school schooling degree graduation university bildung schulabschluss abschluss "
        "ausbildung studium diplome etudes educacion estudios escolaridad"
    ),
    "work": (
        "occupation job profession work workclass employer employment industry company beruf "
        "taetigkeit arbeitgeber branche metier emploi employeur ocupacion profesion trabajo "
        "empleo empresa"
    ),
    "the body": "height bmi groesse koerpergroesse gewicht taille poids estatura eye hair",
    "a date that others may know": (
        "date datum fecha admission discharge visit death died aufnahme entlassung deces muerte "
        "ingreso_hospital"
    ),
}

_ENDINGS = {  # also of German compounds: Patientenname, Fallnummer
    _PERSON: ("name", "names", "nom", "noms", "nombre", "nombres"),
    _NUMBER: ("nummer",),
    "a home address": ("adresse", "strasse"),
    "a telephone number": ("telefon",),
}
_GENERIC_IDS = "id ids nr"
_PEOPLE = (
    "person persons people patient patients user users customer customers client clients member "
    "members subject student students participant respondent individual citizen employee "
    "applicant insured patientin kunde benutzer versicherter mitarbeiter personne utilisateur "
    "adherent persona paciente usuario cliente empleado"
)
_FREE_TEXT = (
    "comment comments note notes remark remarks description text narrative message bemerkung "
    "bemerkungen kommentar anmerkung notiz beschreibung commentaire remarque observacion "
    "observaciones comentario nota descripcion"
)
_K_NAMES = ("k", "k_min", "min_k", "k_anonymity", "k_level", "personal_k", "privacy_level")

K_COLUMN = "k column"
PERSON_COLUMN = "person column"

ENOUGH_ROWS = 20
"""In fewer rows than this, that all values differ says nothing."""

MISSING_TOKENS = ("?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-", ".", "#N/A")
"""Cells that often mean missing without being empty."""

_PATTERNS = {  # of values that point at one person; tested on distinct values
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "web addresses": r"^(https?://|www\.)\S+$",
    "network addresses": r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    "bank account numbers (IBAN)": r"^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,4})?$",
    "payment card numbers": r"^[0-9]{4}([ -][0-9]{4}){3}$",
    "social security numbers": r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "random identifiers (UUID)": r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
    "telephone numbers": r"^(\+|00|\()[0-9(][0-9 ()./-]{5,}[0-9]$",
}
_PATTERN_SHARE = {"e-mail addresses": 0.05, "web addresses": 0.5}
"""The share of distinct values that must match; 0.8 unless stated here."""

_WHY = {
    "identifying": "points at one person",
    "sensitive": "people may not want known",
    "quasi-identifying": "others may know about a person",
}

_FULL_NAME = r"^\p{Lu}[\p{Ll}'’-]+( \p{Lu}\.?)? \p{Lu}[\p{L}'’-]+$"
_SHORT_CODE = r"^[A-Za-z]{0,3}[0-9][0-9A-Za-z.-]{1,9}$"


@dataclass(frozen=True)
class Proposal:
    """What one column seems to be.

    ``role`` is one of the four roles, or "k column" or "person column" (both never released).
    ``hierarchy_spec_text`` is what ``--hierarchy column=…`` takes, empty where none is needed.
    ``confidence`` is high, medium or low; ``kind`` is that of the values.
    """

    column: str
    role: str
    hierarchy_spec_text: str
    reasons: tuple[str, ...]
    confidence: str
    kind: str


@dataclass(frozen=True)
class TableSummary:
    """What concerns the whole table: the person and k columns if any, and warnings in words."""

    person: str | None
    k_column: str | None
    warnings: tuple[str, ...]


def propose_roles(table: Table) -> list[Proposal]:
    """Return a proposal per column, in the table's order; the same for any order of rows."""
    profiles = [_profile(table, name) for name in table.columns]
    person = _choose_person_column(profile for profile in profiles if profile.is_repeating_key)
    return [_propose(profile, is_person=profile.name == person) for profile in profiles]


def summarize_proposals(table: Table, proposals: list[Proposal]) -> TableSummary:
    """Return what concerns the table as a whole: its person and k columns, and warnings."""
    having = {
        role: [part.column for part in proposals if part.role == role]
        for role in ("quasi-identifying", "sensitive", PERSON_COLUMN, K_COLUMN)
    }
    person = next(iter(having[PERSON_COLUMN]), None)
    k_column = next(iter(having[K_COLUMN]), None)
    warnings = list(table.notes)
    if person:
        warnings.append(
            f"column {person!r} repeats: one person may have several rows, so groups should count "
            f"people, not rows (--person {person})"
        )
    if k_column:
        warnings.append(
            f"column {k_column!r} looks like the group size that each person asks for "
            f"(--k-column {k_column})"
        )
    if not having["quasi-identifying"]:
        warnings.append("no column looks quasi-identifying: name those that others may know")
    if not having["sensitive"]:
        warnings.append("no column looks sensitive: l and t have nothing to protect")
    for token, columns in _missing_tokens(table).items():
        warnings.append(
            f"{token!r} occurs in {', '.join(columns)} and may mean missing "
            f"(--missing-values '{token}')"
        )
    return TableSummary(person, k_column, tuple(warnings))


def repeating_identifiers(table: Table) -> list[str]:
    """Return the columns that look like identifiers of people and have repeated values."""
    found = []
    for name in table.columns:
        meaning = meaning_of(name)
        if meaning is None or not meaning.is_person_key:
            continue
        column = table.frame.column(name)
        if len(column.unique()) == len(column):  # the usual case, without counting
            continue
        values = _Values.of(table, name)
        if _is_repeating_key(name, len(values.labels), values.n_cells):
            found.append(name)
    return found


# ── what a name says ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Meaning:
    """What a name says: a role, about what, and by which of its words.

    ``is_person_key`` is True where the column may identify people across rows.
    """

    role: str
    about: str
    word: str
    is_person_key: bool = False


def words_of(name: str) -> list[str]:
    """Return a name's words in lower case without accents: 'PatientID' is patient, id."""
    spaced = re.sub(r"(?<=[a-zß-ÿ0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    german = spaced.lower()
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        german = german.replace(umlaut, letters)
    plain = unicodedata.normalize("NFKD", german)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.findall(r"[a-z]+|[0-9]+", plain)


def is_k_name(name: str) -> bool:
    """Return whether a name suggests a column of per-record k."""
    return "_".join(words_of(name)) in _K_NAMES


def is_free_text_name(name: str) -> bool:
    """Return whether a name suggests free text."""
    return bool(set(words_of(name)) & set(_FREE_TEXT.split()))


def meaning_of(name: str) -> Meaning | None:
    """Return what a name says about the role, or None.

    Direct identifiers come first, then sensitive words, then quasi-identifying ones, and only
    then the words "name" and "id", which also occur in names such as "city name".
    """
    words = words_of(name)
    for role, table in (
        ("identifying", _IDENTIFYING),
        ("sensitive", _SENSITIVE),
        ("quasi-identifying", _QUASI),
    ):
        for about, listed in table.items():
            word = _first_match(words, listed)
            if word:
                is_key = about in (_NUMBER, _EMAIL) or word in ("username", "user name", "login")
                return Meaning(role, about, word, is_key)
    for about, endings in _ENDINGS.items():
        for word in words:
            if word.endswith(endings):
                return Meaning("identifying", about, word, about == _NUMBER)
    generic_id = _first_match(words, _GENERIC_IDS)
    if generic_id:
        return Meaning(
            "identifying", "a number that stands for one row or person", generic_id, True
        )
    if is_about_people(name) and len(words) == 1:
        return Meaning("identifying", _NUMBER, words[0], True)
    return None


def is_about_people(name: str) -> bool:
    """Return whether a name is about people: patient, customer, person …"""
    return bool(set(words_of(name)) & set(_PEOPLE.split()))


def _first_match(words: list[str], listed: str) -> str:
    """Return the first entry of a list that the name contains as whole words in a row."""
    joined = "_" + "_".join(words) + "_"
    squeezed = "".join(words)
    for entry in listed.split():
        phrase = entry.replace("-", "_")
        if f"_{phrase}_" in joined or (len(phrase) >= 5 and squeezed == phrase.replace("_", "")):
            return entry.replace("_", " ")
    return ""


# ── profiling a column ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Values:
    """The distinct values of a column that are not missing, and how many cells hold each."""

    labels: pa.Array
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, name: str) -> _Values:
        counted = pc.value_counts(labels_of(table.frame.column(name)))
        labels, counts = counted.field("values"), counted.field("counts")
        missing = pa.array(["", *table.missing_values], labels.type)
        kept = pc.and_(pc.is_valid(labels), pc.invert(pc.is_in(labels, missing)))
        return cls(labels.filter(kept), counts.filter(kept).to_numpy())

    @property
    def n_cells(self) -> int:
        return int(self.counts.sum())

    def share_matching(self, pattern: str) -> float:
        """Return the share of distinct values that match."""
        if not len(self.labels):
            return 0.0
        trimmed = pc.utf8_trim_whitespace(self.labels)
        return float(pc.mean(pc.match_substring_regex(trimmed, pattern)).as_py())


@dataclass(frozen=True, eq=False)
class _ColumnProfile:
    """Everything that a proposal is based on."""

    name: str
    kind: ColumnKind
    values: _Values
    meaning: Meaning | None

    @property
    def is_unique(self) -> bool:
        return self.values.n_cells >= ENOUGH_ROWS and self.kind.n_values == self.values.n_cells

    @property
    def is_nearly_unique(self) -> bool:
        return (
            self.values.n_cells >= ENOUGH_ROWS and self.kind.n_values >= 0.9 * self.values.n_cells
        )

    @property
    def is_repeating_key(self) -> bool:
        return (
            self.meaning is not None
            and self.meaning.is_person_key
            and _is_repeating_key(self.name, self.kind.n_values, self.values.n_cells)
        )

    @property
    def is_free_text(self) -> bool:
        if self.kind.kind != "category" or self.kind.n_values < ENOUGH_ROWS:
            return False
        if self.kind.n_values < 0.3 * self.values.n_cells and not is_free_text_name(self.name):
            return False
        return float(pc.mean(pc.utf8_length(self.values.labels)).as_py()) >= 25


def _profile(table: Table, name: str) -> _ColumnProfile:
    kind = kind_of(table.frame.column(name), table.missing_values)
    return _ColumnProfile(name, kind, _Values.of(table, name), meaning_of(name))


def _is_repeating_key(name: str, n_values: int, n_cells: int) -> bool:
    # few values are kinds of something, not people, unless the name speaks of people
    fewest = 10 if is_about_people(name) else max(10, 0.05 * n_cells)
    return fewest <= n_values < n_cells


def _choose_person_column(candidates: Iterable[_ColumnProfile]) -> str | None:
    """Return the one column to count people by: a name about people first, then most values."""
    ranked = sorted(
        candidates, key=lambda profile: (not is_about_people(profile.name), -profile.kind.n_values)
    )
    return ranked[0].name if ranked else None


# ── deciding ─────────────────────────────────────────────────────────────────────────────────


def _propose(profile: _ColumnProfile, is_person: bool) -> Proposal:
    role, confidence, reasons = _decide_role(profile, is_person)
    reasons += _remarks(profile, role)
    hierarchy = _propose_hierarchy(profile) if role == "quasi-identifying" else ""
    return Proposal(profile.name, role, hierarchy, tuple(reasons), confidence, profile.kind.kind)


def _decide_role(profile: _ColumnProfile, is_person: bool) -> tuple[str, str, list[str]]:
    """Return role, confidence and the deciding reason; the first rule that applies decides."""
    meaning, kind = profile.meaning, profile.kind.kind
    if kind == "empty":
        return "identifying", "high", ["every cell is missing: removing it loses nothing"]
    if is_k_name(profile.name) and _may_be_k(profile):
        return K_COLUMN, "high", ["its name and its small whole numbers suggest a per-record k"]
    for what, pattern in _PATTERNS.items():
        if profile.values.share_matching(pattern) >= _PATTERN_SHARE.get(what, 0.8):
            return "identifying", "high", [f"its values look like {what}"]
    if is_person:
        reason = "it looks like an identifier and repeats, so it may identify people"
        return PERSON_COLUMN, "medium", [reason]
    if profile.is_free_text:
        reason = "long texts, mostly different: sentences can hold names, so it is removed"
        return "identifying", "high", [reason]
    if meaning and _is_supported_by_values(profile, meaning):
        if meaning.role == "sensitive" and kind == "date":
            return "quasi-identifying", "medium", ["a date is something that others may know"]
        about = "" if meaning.about == meaning.word else f" ({meaning.about})"
        reason = f"its name says {meaning.word!r}{about}, which {_WHY[meaning.role]}"
        return meaning.role, "high", [reason]
    if _may_number_rows(profile) or (profile.is_nearly_unique and kind == "category"):
        differs = "every row has" if profile.is_unique else "nearly every row has"
        return "identifying", "medium", [f"{differs} its own value"]
    if profile.kind.n_values >= 50 and profile.values.share_matching(_FULL_NAME) >= 0.9:
        return "identifying", "medium", ["its values look like first and last names"]
    if kind == "date":
        return "quasi-identifying", "medium", ["a date is something that others may know"]
    reason = "in doubt: neither its name nor its values tell what it is, so it is protected"
    return "quasi-identifying", "low", [reason]


def _is_supported_by_values(profile: _ColumnProfile, meaning: Meaning) -> bool:
    """Return whether the values can be what the name says."""
    kind, n_values = profile.kind.kind, profile.kind.n_values
    if meaning.role == "identifying":
        if meaning.is_person_key:  # few values are kinds of something, not people
            return kind != "boolean" and (n_values > 10 or profile.values.n_cells <= ENOUGH_ROWS)
        return meaning.about != "a person's name" or kind in ("category", "code")
    if meaning.role == "sensitive":  # 'blood sample id' is a number of the sample
        is_numbered = bool(set(words_of(profile.name)) & {"id", "nr", "no", "number", "code"})
        return not (is_numbered and _may_number_rows(profile))
    return True


def _may_number_rows(profile: _ColumnProfile) -> bool:
    return profile.is_unique and profile.kind.kind in ("integer", "code", "category")


def _may_be_k(profile: _ColumnProfile) -> bool:
    numbers = parse_numbers(profile.values.labels)
    return profile.kind.kind == "integer" and numbers.min() >= 1 and numbers.max() <= 1000


def _remarks(profile: _ColumnProfile, role: str) -> list[str]:
    """Return what else a person should know of the column."""
    remarks = []
    if (
        profile.meaning
        and profile.meaning.is_person_key
        and role == "identifying"
        and profile.is_repeating_key
    ):
        remarks.append("it repeats: if it identifies people, groups should count people")
    if profile.kind.dominant_kind:
        remarks.append(
            f"{profile.kind.n_odd} cells are not {profile.kind.dominant_kind}: if they mean "
            "missing, name them with --missing-values"
        )
    if role == "quasi-identifying" and profile.is_unique:
        remarks.append("every row has its own value")
    if role == "quasi-identifying" and profile.meaning and profile.meaning.about == "origin":
        remarks.append("it may be sensitive as well: consider it when you choose sensitive columns")
    is_number = profile.kind.kind in ("integer", "decimal")
    if role == "sensitive" and is_number and profile.kind.n_values > 50:
        remarks.append("many different numbers: distinct values in a group say little about it")
    if profile.kind.n_values == 1:
        remarks.append("the same in every row")
    return remarks


# ── hierarchies ──────────────────────────────────────────────────────────────────────────────


def _propose_hierarchy(profile: _ColumnProfile) -> str:
    kind = profile.kind.kind
    about = profile.meaning.about if profile.meaning else ""
    if profile.kind.n_values <= 4:
        return "flat"
    if about == "postal code" or kind == "code":
        return "prefix"
    if kind == "date":
        return "dates:month,year,decade" if about == "birth" else "dates:month,year"
    if kind in ("integer", "decimal"):
        return _propose_intervals(profile, is_age=about == "age")
    if kind == "category" and profile.kind.n_values > 20:
        return "prefix" if profile.values.share_matching(_SHORT_CODE) == 1.0 else "auto"
    return "auto"


def _propose_intervals(profile: _ColumnProfile, is_age: bool) -> str:
    """Return round widths for some twenty intervals, or ``auto`` where numbers bunch up."""
    numbers = parse_numbers(profile.values.labels)
    if is_age and numbers.max() - numbers.min() >= 20:  # years, not numbers of age groups
        return "intervals:5,10,20"
    order = np.argsort(numbers)
    below = np.cumsum(profile.values.counts[order]) / profile.values.n_cells
    low, high = numbers[order][np.searchsorted(below, (0.05, 0.95))]
    spread, whole = float(high - low), float(numbers.max() - numbers.min())
    if profile.kind.n_values <= 8 or spread <= 0 or whole > 4 * spread:
        return "auto"
    target = spread / 18
    exponent = int(np.floor(np.log10(target)))
    digit = min((1, 2, 5, 10), key=lambda round_digit: abs(round_digit - target / 10.0**exponent))
    width = Decimal(digit).scaleb(exponent)
    if profile.kind.kind == "integer":
        width = max(width, Decimal(2))
    return "intervals:" + ",".join(f"{(width * times).normalize():f}" for times in (1, 2, 4))


def _missing_tokens(table: Table) -> dict[str, list[str]]:
    """Return the known tokens that stand in columns without being named as missing."""
    found: dict[str, list[str]] = {}
    for name in table.columns:
        labels = _Values.of(table, name).labels
        is_token = pc.is_in(labels, pa.array(MISSING_TOKENS, labels.type))
        for token in labels.filter(is_token).to_pylist():
            found.setdefault(token, []).append(name)
    return {token: found[token] for token in MISSING_TOKENS if token in found}
