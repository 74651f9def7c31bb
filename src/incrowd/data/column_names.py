"""What a column's name says about its role, in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Meaning:
    """What a name says: a role, about what, and by which of its words.

    ``is_person_key`` is True where the column may tell people apart, row after row.
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


def names_k(name: str) -> bool:
    """Return whether a name says that the column holds each person's own k."""
    return "_".join(words_of(name)) in _K_NAMES


def names_free_text(name: str) -> bool:
    """Return whether a name says that people wrote sentences into the column."""
    return bool(set(words_of(name)) & set(_FREE_TEXT.split()))


def meaning_of(name: str) -> Meaning | None:
    """Return what a name says about the role, or None.

    Direct identifiers come first, then sensitive words, then quasi-identifying ones, and only
    then the words "name" and "id", which also stand in names such as "city name".
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
    """Return whether a name speaks of people: patient, customer, person …"""
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
