"""Countries: ISO 3166-1 codes and English names, grouped by the UN's geographic subregions (M49).

M49 has no entry for Taiwan, which stands with its neighbours; Kosovo, which has no ISO code, is
known by its name and the code in common use, XK.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# region: subregion: alpha-2, alpha-3 and English name of each country or territory
_COUNTRIES = {
    "Africa": {
        "Northern Africa": (
            "DZ DZA Algeria|EG EGY Egypt|LY LBY Libya|MA MAR Morocco|SD SDN Sudan|TN TUN Tunisia|"
            "EH ESH Western Sahara"
        ),
        "Eastern Africa": (
            "IO IOT British Indian Ocean Territory|BI BDI Burundi|KM COM Comoros|DJ DJI Djibouti|"
            "ER ERI Eritrea|ET ETH Ethiopia|TF ATF French Southern Territories|KE KEN Kenya|"
            "MG MDG Madagascar|MW MWI Malawi|MU MUS Mauritius|YT MYT Mayotte|MZ MOZ Mozambique|"
            "RE REU Réunion|RW RWA Rwanda|SC SYC Seychelles|SO SOM Somalia|SS SSD South Sudan|"
            "TZ TZA Tanzania|UG UGA Uganda|ZM ZMB Zambia|ZW ZWE Zimbabwe"
        ),
        "Middle Africa": (
            "AO AGO Angola|CM CMR Cameroon|CF CAF Central African Republic|TD TCD Chad|"
            "CG COG Congo|CD COD Democratic Republic of the Congo|GQ GNQ Equatorial Guinea|"
            "GA GAB Gabon|ST STP Sao Tome and Principe"
        ),
        "Southern Africa": (
            "BW BWA Botswana|SZ SWZ Eswatini|LS LSO Lesotho|NA NAM Namibia|ZA ZAF South Africa"
        ),
        "Western Africa": (
            "BJ BEN Benin|BF BFA Burkina Faso|CV CPV Cabo Verde|CI CIV Côte d'Ivoire|"
            "GM GMB Gambia|GH GHA Ghana|GN GIN Guinea|GW GNB Guinea-Bissau|LR LBR Liberia|"
            "ML MLI Mali|MR MRT Mauritania|NE NER Niger|NG NGA Nigeria|SH SHN Saint Helena|"
            "SN SEN Senegal|SL SLE Sierra Leone|TG TGO Togo"
        ),
    },
    "Americas": {
        "Caribbean": (
            "AI AIA Anguilla|AG ATG Antigua and Barbuda|AW ABW Aruba|BS BHS Bahamas|"
            "BB BRB Barbados|BQ BES Bonaire Sint Eustatius and Saba|VG VGB British Virgin Islands|"
            "KY CYM Cayman Islands|CU CUB Cuba|CW CUW Curaçao|DM DMA Dominica|"
            "DO DOM Dominican Republic|GD GRD Grenada|GP GLP Guadeloupe|HT HTI Haiti|"
            "JM JAM Jamaica|MQ MTQ Martinique|MS MSR Montserrat|PR PRI Puerto Rico|"
            "BL BLM Saint Barthélemy|KN KNA Saint Kitts and Nevis|LC LCA Saint Lucia|"
            "MF MAF Saint Martin|VC VCT Saint Vincent and the Grenadines|SX SXM Sint Maarten|"
            "TT TTO Trinidad and Tobago|TC TCA Turks and Caicos Islands|"
            "VI VIR United States Virgin Islands"
        ),
        "Central America": (
            "BZ BLZ Belize|CR CRI Costa Rica|SV SLV El Salvador|GT GTM Guatemala|HN HND Honduras|"
            "MX MEX Mexico|NI NIC Nicaragua|PA PAN Panama"
        ),
        "South America": (
            "AR ARG Argentina|BO BOL Bolivia|BV BVT Bouvet Island|BR BRA Brazil|CL CHL Chile|"
            "CO COL Colombia|EC ECU Ecuador|FK FLK Falkland Islands|GF GUF French Guiana|"
            "GY GUY Guyana|PY PRY Paraguay|PE PER Peru|"
            "GS SGS South Georgia and the South Sandwich Islands|SR SUR Suriname|UY URY Uruguay|"
            "VE VEN Venezuela"
        ),
        "Northern America": (
            "BM BMU Bermuda|CA CAN Canada|GL GRL Greenland|PM SPM Saint Pierre and Miquelon|"
            "US USA United States of America"
        ),
    },
    "Antarctica": {"Antarctica": "AQ ATA Antarctica"},
    "Asia": {
        "Central Asia": (
            "KZ KAZ Kazakhstan|KG KGZ Kyrgyzstan|TJ TJK Tajikistan|TM TKM Turkmenistan|"
            "UZ UZB Uzbekistan"
        ),
        "Eastern Asia": (
            "CN CHN China|HK HKG Hong Kong|MO MAC Macao|KP PRK North Korea|JP JPN Japan|"
            "MN MNG Mongolia|KR KOR South Korea|TW TWN Taiwan"
        ),
        "South-eastern Asia": (
            "BN BRN Brunei Darussalam|KH KHM Cambodia|ID IDN Indonesia|LA LAO Laos|"
            "MY MYS Malaysia|MM MMR Myanmar|PH PHL Philippines|SG SGP Singapore|TH THA Thailand|"
            "TL TLS Timor-Leste|VN VNM Viet Nam"
        ),
        "Southern Asia": (
            "AF AFG Afghanistan|BD BGD Bangladesh|BT BTN Bhutan|IN IND India|IR IRN Iran|"
            "MV MDV Maldives|NP NPL Nepal|PK PAK Pakistan|LK LKA Sri Lanka"
        ),
        "Western Asia": (
            "AM ARM Armenia|AZ AZE Azerbaijan|BH BHR Bahrain|CY CYP Cyprus|GE GEO Georgia|"
            "IQ IRQ Iraq|IL ISR Israel|JO JOR Jordan|KW KWT Kuwait|LB LBN Lebanon|OM OMN Oman|"
            "QA QAT Qatar|SA SAU Saudi Arabia|PS PSE Palestine|SY SYR Syria|TR TUR Türkiye|"
            "AE ARE United Arab Emirates|YE YEM Yemen"
        ),
    },
    "Europe": {
        "Eastern Europe": (
            "BY BLR Belarus|BG BGR Bulgaria|CZ CZE Czechia|HU HUN Hungary|PL POL Poland|"
            "MD MDA Moldova|RO ROU Romania|RU RUS Russian Federation|SK SVK Slovakia|"
            "UA UKR Ukraine"
        ),
        "Northern Europe": (
            "AX ALA Åland Islands|DK DNK Denmark|EE EST Estonia|FO FRO Faroe Islands|"
            "FI FIN Finland|GG GGY Guernsey|IS ISL Iceland|IE IRL Ireland|IM IMN Isle of Man|"
            "JE JEY Jersey|LV LVA Latvia|LT LTU Lithuania|NO NOR Norway|"
            "SJ SJM Svalbard and Jan Mayen|SE SWE Sweden|GB GBR United Kingdom"
        ),
        "Southern Europe": (
            "AL ALB Albania|AD AND Andorra|BA BIH Bosnia and Herzegovina|HR HRV Croatia|"
            "GI GIB Gibraltar|GR GRC Greece|VA VAT Holy See|IT ITA Italy|MT MLT Malta|"
            "ME MNE Montenegro|MK MKD North Macedonia|PT PRT Portugal|SM SMR San Marino|"
            "RS SRB Serbia|SI SVN Slovenia|ES ESP Spain"
        ),
        "Western Europe": (
            "AT AUT Austria|BE BEL Belgium|FR FRA France|DE DEU Germany|LI LIE Liechtenstein|"
            "LU LUX Luxembourg|MC MCO Monaco|NL NLD Netherlands|CH CHE Switzerland"
        ),
    },
    "Oceania": {
        "Australia and New Zealand": (
            "AU AUS Australia|CX CXR Christmas Island|CC CCK Cocos (Keeling) Islands|"
            "HM HMD Heard Island and McDonald Islands|NZ NZL New Zealand|NF NFK Norfolk Island"
        ),
        "Melanesia": (
            "FJ FJI Fiji|NC NCL New Caledonia|PG PNG Papua New Guinea|SB SLB Solomon Islands|"
            "VU VUT Vanuatu"
        ),
        "Micronesia": (
            "GU GUM Guam|KI KIR Kiribati|MH MHL Marshall Islands|"
            "FM FSM Federated States of Micronesia|NR NRU Nauru|MP MNP Northern Mariana Islands|"
            "PW PLW Palau|UM UMI United States Minor Outlying Islands"
        ),
        "Polynesia": (
            "AS ASM American Samoa|CK COK Cook Islands|PF PYF French Polynesia|NU NIU Niue|"
            "PN PCN Pitcairn|WS WSM Samoa|TK TKL Tokelau|TO TON Tonga|TV TUV Tuvalu|"
            "WF WLF Wallis and Futuna"
        ),
    },
}

# other names and codes in common use; those of ISO's own list among them
_ALSO = {
    "AX": "Aland",
    "BA": "Bosnia",
    "BN": "Brunei",
    "BO": "Plurinational State of Bolivia|Bolivia (Plurinational State of)",
    "BQ": "Bonaire",
    "CD": "DR Congo|DRC|Congo (Democratic Republic of the)|Congo Kinshasa|Zaire",
    "CG": "Republic of the Congo|Congo Brazzaville",
    "CI": "Ivory Coast|Cote dIvoire",
    "CN": "People's Republic of China|PRC",
    "CV": "Cape Verde",
    "CZ": "Czech Republic",
    "DE": "Deutschland|Federal Republic of Germany",
    "FK": "Falkland Islands (Malvinas)",
    "FM": "Micronesia (Federated States of)",
    "GB": "UK|Great Britain|United Kingdom of Great Britain and Northern Ireland|England|"
    "Scotland|Wales|Northern Ireland",
    "HK": "Hong Kong SAR",
    "IR": "Islamic Republic of Iran|Iran (Islamic Republic of)",
    "KP": "Democratic People's Republic of Korea|Korea (Democratic People's Republic of)|"
    "Korea North",
    "KR": "Republic of Korea|Korea (Republic of)|Korea|Korea South",
    "LA": "Lao People's Democratic Republic|Lao PDR",
    "MD": "Republic of Moldova|Moldova (Republic of)",
    "MF": "Saint Martin (French part)",
    "MK": "Macedonia|Republic of North Macedonia",
    "MM": "Burma",
    "MO": "Macau",
    "NL": "The Netherlands|Holland|Netherlands (Kingdom of the)",
    "PS": "State of Palestine|Palestine (State of)|Palestinian Territory",
    "RU": "Russia",
    "SH": "Saint Helena Ascension and Tristan da Cunha",
    "SX": "Sint Maarten (Dutch part)",
    "SY": "Syrian Arab Republic",
    "SZ": "Swaziland",
    "TL": "East Timor",
    "TR": "Turkey",
    "TW": "Taiwan (Province of China)|Taiwan Province of China",
    "TZ": "United Republic of Tanzania|Tanzania (United Republic of)",
    "US": "United States|U.S.|U.S.A.|United States of America (the)|America",
    "VA": "Vatican|Vatican City|Holy See (Vatican City State)",
    "VE": "Bolivarian Republic of Venezuela|Venezuela (Bolivarian Republic of)",
    "VG": "Virgin Islands (British)",
    "VI": "Virgin Islands (U.S.)|US Virgin Islands",
    "VN": "Vietnam",
}
_KOSOVO = ("xk", "xkx", "kosovo")


def place_country(value: str) -> tuple[str, ...] | None:
    """Return a country's subregion and region; None where no country is called so."""
    return _regions().get(_plain(value))


def countries() -> dict[str, tuple[str, str, str, str]]:
    """Return alpha-3 code, name, subregion and region of each alpha-2 code of ISO 3166-1."""
    found = {}
    for region, subregions in _COUNTRIES.items():
        for subregion, listed in subregions.items():
            for entry in listed.split("|"):
                two, three, name = entry.split(" ", 2)
                found[two] = (three, name, subregion, region)
    return found


@cache
def _regions() -> dict[str, tuple[str, ...]]:
    """Return the groups of every code and name, by what is left of it without case and signs."""
    found: dict[str, tuple[str, ...]] = {}
    for two, (three, name, subregion, region) in countries().items():
        also = _ALSO[two].split("|") if two in _ALSO else []
        for known in (two, three, name, *also):
            found[_plain(known)] = (subregion, region)
    return found | dict.fromkeys(_KOSOVO, ("Southern Europe", "Europe"))


def _plain(value: str) -> str:
    """Return a name without case, accents, signs and small words: 'The Gambia' is gambia."""
    letters = unicodedata.normalize("NFKD", value.casefold())
    letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    words = re.findall(r"[^\W_]+", letters.replace("'", "").replace("’", "").replace(".", ""))
    if len(words) > 1:
        words = ["saint" if word == "st" else word for word in words if word not in ("the", "and")]
    return " ".join(words)
