"""Time zone names of today: hosts lack the package tzdata-legacy, to which Debian moved old ones."""

from __future__ import annotations

_AREAS = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Etc", "Europe", "Indian", "Pacific",
)  # fmt: skip
# Old names by their first part, each before today's; one without a first part of its own keeps the old one's.
_OLD = {
    "Africa": "Asmera Asmara  Timbuktu Bamako",
    "America": "Atka Adak  Buenos_Aires Argentina/Buenos_Aires  Catamarca Argentina/Catamarca  Coral_Harbour Atikokan  "
    "Cordoba Argentina/Cordoba  Ensenada Tijuana  Fort_Wayne Indiana/Indianapolis  Godthab Nuuk  "
    "Indianapolis Indiana/Indianapolis  Jujuy Argentina/Jujuy  Knox_IN Indiana/Knox  Louisville Kentucky/Louisville  "
    "Mendoza Argentina/Mendoza  Montreal Toronto  Nipigon Toronto  Pangnirtung Iqaluit  Porto_Acre Rio_Branco  "
    "Rainy_River Winnipeg  Rosario Argentina/Cordoba  Santa_Isabel Tijuana  Shiprock Denver  Thunder_Bay Toronto  "
    "Virgin St_Thomas  Yellowknife Edmonton  Argentina/ComodRivadavia Argentina/Catamarca",
    "Antarctica": "South_Pole McMurdo",
    "Asia": "Ashkhabad Ashgabat  Calcutta Kolkata  Choibalsan Ulaanbaatar  Chongqing Shanghai  Chungking Shanghai  "
    "Dacca Dhaka  Harbin Shanghai  Istanbul Europe/Istanbul  Kashgar Urumqi  Katmandu Kathmandu  Macao Macau  "
    "Rangoon Yangon  Saigon Ho_Chi_Minh  Tel_Aviv Jerusalem  Thimbu Thimphu  Ujung_Pandang Makassar  "
    "Ulan_Bator Ulaanbaatar",
    "Atlantic": "Faeroe Faroe  Jan_Mayen Arctic/Longyearbyen",
    "Australia": "ACT Sydney  Canberra Sydney  Currie Hobart  LHI Lord_Howe  NSW Sydney  North Darwin  "
    "Queensland Brisbane  South Adelaide  Tasmania Hobart  Victoria Melbourne  West Perth  Yancowinna Broken_Hill",
    "Brazil": "Acre America/Rio_Branco  DeNoronha America/Noronha  East America/Sao_Paulo  West America/Manaus",
    "Canada": "Atlantic America/Halifax  Central America/Winnipeg  Eastern America/Toronto  Mountain America/Edmonton  "
    "Newfoundland America/St_Johns  Pacific America/Vancouver  Saskatchewan America/Regina  Yukon America/Whitehorse",
    "Chile": "Continental America/Santiago  EasterIsland Pacific/Easter",
    "Europe": "Belfast London  Kiev Kyiv  Tiraspol Chisinau  Uzhgorod Kyiv  Zaporozhye Kyiv",
    "Mexico": "BajaNorte America/Tijuana  BajaSur America/Mazatlan  General America/Mexico_City",
    "Pacific": "Enderbury Kanton  Johnston Honolulu  Ponape Pohnpei  Samoa Pago_Pago  Truk Chuuk  Yap Chuuk",
    "US": "Alaska America/Anchorage  Aleutian America/Adak  Arizona America/Phoenix  Central America/Chicago  "
    "East-Indiana America/Indiana/Indianapolis  Eastern America/New_York  Hawaii Pacific/Honolulu  "
    "Indiana-Starke America/Indiana/Knox  Michigan America/Detroit  Mountain America/Denver  "
    "Pacific America/Los_Angeles  Samoa Pacific/Pago_Pago",
}


def zone(value: str) -> str:
    """Return the time zone ``value``. Raises ValueError for an old name, one without an area, or in another case."""
    area, _, place = value.partition("/")
    if area in _OLD:
        words = _OLD[area].split()
        now = dict(zip(words[::2], words[1::2], strict=True)).get(place)
        if now:
            own = now if now.partition("/")[0] in _AREAS else f"{area}/{now}"
            raise ValueError(f"an old name, of the package tzdata-legacy, which hosts do not have: write {own}")
    if not place and value != "UTC":
        raise ValueError("has no area: write area and city, such as Europe/Berlin, or UTC")
    if place and area not in _AREAS:
        raise ValueError(f"{area} is no area of today: write one of {', '.join(_AREAS)}, and a city in it")
    if place and not place[0].isupper():
        raise ValueError("is written in another case: areas and cities begin with a capital, such as Europe/Berlin")
    return value
