"""What the name of a column says about it, in several languages: a role, and about what."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

EMAIL = "an e-mail address"
PERSON = "a person's name"
NUMBER = "a number that stands for one person"
POSTAL_CODE = "postal code"
HEALTH = "health"
PLACE = "place"
ORIGIN = "origin"
AGE = "age"
BIRTH = "birth"
DATE = "a date that others may know"

_IDENTIFYING = {
    EMAIL: "email e-mail mail emailaddress courriel correo",
    "a telephone number": (
        "phone telephone tel mobile cellphone phonenumber fax telefon telefonnummer handy "
        "handynummer portable telefono movil cellulare celular"
    ),
    "a home address": (
        "address addr street house_number homeaddress adresse anschrift strasse hausnummer rue "
        "direccion calle domicilio indirizzo adres straat huisnummer endereco"
    ),
    PERSON: (
        "surname lastname last_name firstname first_name middle_name forename fullname full_name "
        "given_name family_name maiden_name nickname username user_name login vorname nachname "
        "familienname geburtsname prenom patronyme apellido apellidos cognome voornaam achternaam "
        "sobrenome"
    ),
    NUMBER: (
        "ssn social_security nhs mrn medical_record record_number insurance_number insurance_id "
        "health_card passport driving_licence driver_license licence_plate license_plate iban "
        "account_number credit_card card_number tax_id tax_number uuid guid patientid personid "
        "userid customerid memberid studentid employeeid identifier identification reisepass "
        "personalausweis ausweis versicherungsnummer sozialversicherungsnummer patientennummer "
        "personalnummer kontonummer steuernummer fallnummer kundennummer kennung identifiant "
        "matricule nir numero_de_securite dni nif nie curp cedula identificador matricula "
        "codice_fiscale bsn burgerservicenummer cpf pesel personnummer numero_securite_sociale "
        "nss tarjeta_sanitaria case_id case_number encounter_id fall_id fallnr aufnahmenr patnr "
        "patientennr kundennr"
    ),
    "an address on the network": "ip ip_address mac_address url website homepage cookie device_id",
}

_SENSITIVE = {
    HEALTH: (
        "diagnosis diagnoses diagnose diagnosen diagnosed diagnostic disease diseases illness icd "
        "symptom symptoms treatment therapy medication medicine drug drugs procedure hiv blood "
        "disability pregnant pregnancy genetic genome psychiatric medical health comorbidity "
        "krankheit erkrankung befund behandlung medikament therapie schwangerschaft maladie "
        "diagnostique traitement medicament enfermedad diagnostico tratamiento medicamento salud "
        "sante gesundheit diagnosi malattia terapia farmaco doenca ziekte allergie allergy"
    ),
    "a measurement of health": (
        "hba1c a1c glucose glukose blutzucker glycemie glucemia glicemia cholesterol cholesterin "
        "ldl hdl triglycerides triglyzeride creatinine kreatinin egfr gfr crp leukocytes "
        "leukozyten platelets thrombozyten hemoglobin haemoglobin haemoglobine hemoglobina tsh psa "
        "ferritin bilirubin alat asat ggt inr troponin nt_pro_bnp albumin harnstoff uric_acid "
        "harnsaeure blood_pressure blutdruck blutgruppe blood_group blood_type systolic diastolic "
        "systolisch diastolisch systolique diastolique heart_rate herzfrequenz puls pulse spo2 "
        "viral_load viruslast cd4 laborwert laborwerte lab_value lab_result test_result "
        "presion_arterial tension_arterielle pressione_arteriosa"
    ),
    "money": (
        "salary income wage wages earnings pay wealth assets debt loan credit balance tax capital "
        "pension gehalt einkommen lohn verdienst vermoegen schulden rente salaire revenu revenus "
        "dette salario sueldo ingreso ingresos deuda reddito stipendio inkomen renda"
    ),
    "belief": (
        "religion religious faith belief confession konfession glaube political politics vote "
        "voting union croyance politique politica politico partei religione"
    ),
    "private life": (
        "sexual orientation crime criminal conviction offense offence arrest violence abuse "
        "straftat vorstrafe delito crimen infraction reato"
    ),
}

_QUASI = {
    AGE: "age alter edad eta leeftijd idade",
    BIRTH: (
        "birth birthday birthdate dateofbirth dob yob born geburt geburtsdatum geburtstag "
        "geburtsjahr geburtsort naissance nacimiento nascita nascimento geboortedatum"
    ),
    "sex": "sex gender geschlecht sexe genre sexo genero sesso geslacht",
    POSTAL_CODE: (
        "code_postal codigo_postal zip zipcode postcode postal postalcode plz postleitzahl cap cep"
    ),
    "family": (
        "marital maritalstatus married civil_status civil relationship household family children "
        "spouse familienstand haushalt kinder matrimonial etat_civil menage enfants estado_civil "
        "hogar hijos stato_civile figli"
    ),
    PLACE: (
        "city town village county state region country province district municipality place "
        "location residence hospital latitude longitude lat lon lng native stadt ort wohnort land "
        "bundesland landkreis kreis gemeinde ville commune pays departement ciudad pais provincia "
        "municipio estado krankenhaus klinik clinic comune citta woonplaats cidade"
    ),
    ORIGIN: (
        "race ethnicity ethnic nationality citizenship language origin immigrant "
        "staatsangehoerigkeit nationalitaet sprache herkunft nationalite langue origine "
        "nacionalidad idioma raza etnia cittadinanza nationaliteit"
    ),
    "education": (
        "education school schooling degree graduation university bildung schulabschluss abschluss "
        "ausbildung studium diplome etudes educacion estudios escolaridad istruzione titolo_studio"
    ),
    "work": (
        "occupation job profession work workclass employer employment industry company beruf "
        "taetigkeit arbeitgeber branche metier emploi employeur ocupacion profesion trabajo "
        "empleo empresa professione beroep isco"
    ),
    "the body": (
        "height weight bmi groesse koerpergroesse gewicht koerpergewicht taille poids estatura "
        "peso altezza eye hair"
    ),
    DATE: (
        "date datum fecha admission discharge visit death died aufnahme entlassung deces muerte "
        "ingreso_hospital admitted discharged aufnahmedatum entlassungsdatum sterbedatum "
        "todesdatum einweisung sortie ricovero dimissione decesso data_ricovero data_nascita"
    ),
}

_ENDINGS = {  # also of German compounds: Patientenname, Fallnummer
    PERSON: ("name", "names", "nom", "noms", "nombre", "nombres", "nome", "naam"),
    NUMBER: ("nummer",),
    "a home address": ("adresse", "strasse"),
    "a telephone number": ("telefon",),
}
_GENERIC_IDS = "id ids nr"
_PEOPLE = (
    "person persons people patient patients user users customer customers client clients member "
    "members subject student students participant respondent individual citizen employee "
    "applicant insured patientin kunde benutzer versicherter mitarbeiter personne utilisateur "
    "adherent persona paciente usuario cliente empleado paziente"
)
_FREE_TEXT = (
    "comment comments note notes remark remarks description text narrative message bemerkung "
    "bemerkungen kommentar anmerkung notiz beschreibung commentaire remarque observacion "
    "observaciones comentario nota descripcion freitext"
)
_K_NAMES = ("k", "k_min", "min_k", "k_anonymity", "k_level", "personal_k", "privacy_level")
_COUNTRY_NAMES = (
    "country countries nation nationality citizenship land staat staatsangehoerigkeit "
    "nationalitaet pays nationalite pais nacionalidad paese cittadinanza"
)
_CODE_NAMES = (
    "code codes schluessel kennziffer kennzahl ags fips nuts naics sic isco ssyk codigo codice key"
)

SHORTEST_PART = 5
"""A known word with fewer letters is no part of a compound: 'average' does not say 'age'."""

SHORTEST_REST = 3
"""Letters that must be left of a compound beside its known part."""


@dataclass(frozen=True)
class Meaning:
    """What a name says: a role, about what, and by which of its words.

    ``is_person_key`` is True where the column may identify people across rows, ``is_compound``
    where the word is only part of one of the name's: Hauptdiagnose.
    """

    role: str
    about: str
    word: str
    is_person_key: bool = False
    is_compound: bool = False


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


def is_about_people(name: str) -> bool:
    """Return whether a name is about people: patient, customer, person …"""
    return bool(set(words_of(name)) & set(_PEOPLE.split()))


def is_country_name(name: str) -> bool:
    """Return whether a name suggests a column of countries."""
    words = words_of(name)
    return bool(set(words) & set(_COUNTRY_NAMES.split())) or words[-1:] == ["land"]


def is_code_name(name: str) -> bool:
    """Return whether a name suggests codes: region_code, Gemeindeschlüssel …"""
    listed = _CODE_NAMES.split()
    return any(
        word in listed or (len(word) > 9 and word.endswith("schluessel")) for word in words_of(name)
    )


@cache
def meaning_of(name: str) -> Meaning | None:
    """Return what a name says about the role, or None.

    Direct identifiers come first, then sensitive words, then quasi-identifying ones, then parts of
    compounds, and only then the words "name" and "id", which also occur in names such as
    "city name".
    """
    words = words_of(name)
    for role, table in _TABLES:
        for about, listed in table.items():
            word = _first_match(words, listed)
            if word:
                is_key = about in (NUMBER, EMAIL) or word in ("username", "user name", "login")
                return Meaning(role, about, word, is_key)
    for about, endings in _ENDINGS.items():
        for word in words:
            if word.endswith(endings):
                return Meaning("identifying", about, word, about == NUMBER)
    for word in words:
        found = _split_compound(word)
        if found:
            return found
    generic_id = _first_match(words, _GENERIC_IDS)
    if generic_id:
        return Meaning(
            "identifying", "a number that stands for one row or person", generic_id, True
        )
    if is_about_people(name) and len(words) == 1:
        return Meaning("identifying", NUMBER, words[0], True)
    return None


_TABLES = (
    ("identifying", _IDENTIFYING),
    ("sensitive", _SENSITIVE),
    ("quasi-identifying", _QUASI),
)


def _first_match(words: list[str], listed: str) -> str:
    """Return the first entry of a list that a name contains as whole words in a row.

    An entry of several words, with digits or of five letters may be split otherwise than it is
    listed: Hb A1c is hba1c.
    """
    runs = {
        "".join(words[first:last])
        for first in range(len(words))
        for last in range(first + 1, min(first + 5, len(words)) + 1)
    }
    for entry in listed.split():
        letters = entry.replace("_", "").replace("-", "")
        may_be_split = not entry.isalpha() or len(entry) >= SHORTEST_PART
        if letters in (runs if may_be_split else words):
            return entry.replace("_", " ")
    return ""


@cache
def _parts() -> tuple[tuple[str, str, str], ...]:
    """Return the words that compounds are made of, each with role and about; the longest first."""
    parts = [
        (entry, role, about)
        for role, table in _TABLES
        for about, listed in table.items()
        for entry in listed.split()
        if entry.isalpha() and len(entry) >= SHORTEST_PART
    ]
    return tuple(sorted(parts, key=lambda part: -len(part[0])))


def _split_compound(word: str) -> Meaning | None:
    """Return what a compound says: its end decides (Aufnahmedatum), else its beginning."""
    for is_part in (str.endswith, str.startswith):
        for part, role, about in _parts():
            if len(word) >= len(part) + SHORTEST_REST and is_part(word, part):
                return Meaning(role, about, part, about == NUMBER, is_compound=True)
    return None
