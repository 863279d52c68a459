"""The monthly file of NPPES: 330 columns, all quoted. SYNTHETIC: providers are invented; their numbers begin with 2, as none that was given out does,
and have the check digit. What a row has follows from its number, and from the nights in which it changed."""
import datetime
import functools
import random
from hashlib import blake2b

from packing import pack_piece
from settings import PROVIDERS
from words import CITIES, FIRST_NAMES, LAST_NAMES, PLACE_WORDS, STATES, STREET_TYPES, STREETS, TRADES, telephone

HOST = "download.cms.gov/nppes"
ROWS_OF_A_CHUNK = 10_000
BLOCKS = 16_384
FIRST_NUMBER = 200_000_000
# Taxonomies with their weight and whether they are of persons.
PERSONS = [code for weight, code in ((12, "207Q00000X"), (8, "207R00000X"), (6, "208000000X"), (14, "363LF0000X"), (8, "363A00000X"), (12, "163W00000X"),
           (6, "164W00000X"), (8, "1041C0700X"), (9, "101YM0800X"), (7, "225100000X"), (6, "122300000X"), (4, "1223G0001X"), (4, "183500000X"),
           (3, "111N00000X"), (3, "152W00000X"), (4, "106S00000X"), (3, "390200000X"), (3, "103TC0700X")) for _ in range(weight)]
ORGANISATIONS = "333600000X 332B00000X 261QM0801X 251E00000X 291U00000X 3336C0003X 261QP2300X 314000000X".split()
POPULOUS = [state for state in STATES for _ in range(max(1, state[5] // 5))]
NO_TAXONOMY, NO_IDENTIFIER = '"","","","",', '"","","","",'
DOUBLED = [sum(divmod(2 * digit, 10)) for digit in range(10)]
OUTER = [DOUBLED[n // 100] + n // 10 % 10 + DOUBLED[n % 10] for n in range(1000)]
INNER = [n // 100 + DOUBLED[n // 10 % 10] + n % 10 for n in range(1000)]


def npi(number):
    """Ten digits, the last of which is Luhn's over 80840 and the others."""
    digits = FIRST_NUMBER + number
    return digits * 10 + -(24 + OUTER[digits // 1_000_000] + INNER[digits // 1000 % 1000] + OUTER[digits % 1000]) % 10


@functools.cache
def blocks(seed):
    """Runs of columns, each ending in a comma."""
    draw = random.Random(f"{seed}/nppes")
    choice = draw.choice

    def row(*cells):
        return "".join(f'"{cell}",' for cell in cells)

    def person():
        credential = choice(("MD", "DO", "NP", "RN", "PT", "LCSW", "DDS", "PHARMD", "", ""))
        title = choice(("", "", "DR.", "MS.", "MR."))
        return row("", choice(LAST_NAMES).upper(), choice(FIRST_NAMES).upper(), choice("ABCDEFGHJKLMNPRSTW"), title, "", credential, *[""] * 9)

    def organisation():
        return row(f"{choice(PLACE_WORDS)} {choice(TRADES)} {choice(('LLC', 'INC', 'PC', 'PLLC'))}".upper(), *[""] * 6, *[""] * 9)

    def address():
        code, _, _, low, high, _ = choice(POPULOUS)
        place = (f"{draw.randint(1, 9999)} {choice(STREETS)} {choice(STREET_TYPES)}".upper(), choice(("", "", "", f"STE {draw.randint(100, 999)}")),
                 choice(CITIES).upper(), code, f"{draw.randint(low, high):03d}{draw.randint(0, 99):02d}{draw.randint(0, 9999):04d}", "US",
                 telephone(draw.randrange(700), draw.randrange(100)), "")
        return code, row(*place, *place)

    def dates():
        day = datetime.date(2005, 5, 23) + datetime.timedelta(draw.randrange(7_400))
        return f'"{day:%m/%d/%Y}","{max(day, datetime.date(2007, 7, 8)):%m/%d/%Y}","","","",'

    def official():
        title = choice(("OWNER", "PRESIDENT", "CEO", "MANAGER"))
        return row(choice(LAST_NAMES).upper(), choice(FIRST_NAMES).upper(), "", title, telephone(draw.randrange(700), 1))

    def identifier():
        return row(f"{draw.randrange(10 ** 8)}", "05", choice(STATES)[0], "")

    return {"persons": [person() for _ in range(BLOCKS)], "organisations": [organisation() for _ in range(BLOCKS)],
            "addresses": [address() for _ in range(BLOCKS)], "dates": [dates() for _ in range(BLOCKS)], "officials": [official() for _ in range(1024)],
            "identifiers": [identifier() for _ in range(1024)]}


TAIL = {"1": '"N","","","","","","",' + '"",' * 15, "2": '"","N","","","","","",' + '"193200000X MULTI-SPECIALTY GROUP",' + '"",' * 14}
# Of a number that is no longer in use there is the day on which it ended, the fortieth column, and no more.
DEACTIVATED = '"",' * 38 + '"05/12/2019",' + '"",' * 289 + '""\n'
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


def row(seed, of, number, changes):
    """The row of a provider; `changes` are the days of its changes: the last update, and a new number of its license."""
    bits = int.from_bytes(blake2b(b"%s/%d" % (seed, number), digest_size=24).digest(), "little")
    kind = bits & 127
    if kind < 4 and not changes:
        return f'"{npi(number)}",{DEACTIVATED}'
    is_person = kind < 105
    state, address = of["addresses"][bits >> 8 & 16_383]
    dates = of["dates"][bits >> 22 & 16_383]
    if changes:
        dates = f'{dates[:13]}"{changes[-1]}","","","",'
    if is_person:
        names, sex, official = of["persons"][bits >> 36 & 16_383], '"F",' if bits & 128 else '"M",', '"","","","","",'
        first = PERSONS[(bits >> 50 & 0xFFFF) % len(PERSONS)]
    else:
        names, sex, official = of["organisations"][bits >> 36 & 16_383], '"",', of["officials"][bits >> 66 & 1023]
        first = ORGANISATIONS[bits >> 50 & 7]
    license_number = (bits >> 76) % 900_000 + 100_000 + len(changes)
    letter = LETTERS[(bits >> 96) % 23]
    # A quarter states no license; a fifth has a second taxonomy, some of them a third.
    stated = f'"{letter}{license_number}","{state}",' if bits >> 101 & 3 or changes else '"","",'
    taxonomies, count = f'"{first}",{stated}"Y",', 1
    if bits >> 103 & 7 < 2:
        second = PERSONS[(bits >> 106 & 0xFFFF) % len(PERSONS)] if is_person else ORGANISATIONS[bits >> 106 & 7]
        if second != first:
            taxonomies, count = f'{taxonomies}"{second}","{license_number + 17}","{state}","N",', 2
            if bits >> 122 & 3 == 0 and is_person and "207RC0000X" not in (first, second):
                taxonomies, count = f'{taxonomies}"207RC0000X","{letter}{license_number + 31}","{POPULOUS[(bits >> 124 & 0xFFFF) % len(POPULOUS)][0]}","N",', 3
    others = of["identifiers"][bits >> 140 & 1023] if bits >> 150 & 7 == 0 else ""
    entity = "1" if is_person else "2"
    return (f'"{npi(number)}","{entity}","","",{names}{address}{dates}{sex}{official}{taxonomies}{NO_TAXONOMY * (15 - count)}{others}'
            f'{NO_IDENTIFIER * (49 if others else 50)}{TAIL[entity]}"{dates[1:11]}"\n')


def chunk(settings, numbers):
    seed, of = str(settings.seed).encode(), blocks(settings.seed)
    changes = {}
    for night in settings.nights():
        day = datetime.date.fromordinal(settings.day(night)).strftime("%m/%d/%Y")
        for number in settings.changed_of_chunk("nppes", night, numbers):
            changes.setdefault(number, []).append(day)
    return pack_piece("".join([row(seed, of, number, changes.get(number, ())) for number in numbers]).encode())


def chunks(settings):
    providers = settings.number(PROVIDERS, 100)
    return (range(begin, min(providers, begin + ROWS_OF_A_CHUNK)) for begin in range(0, providers, ROWS_OF_A_CHUNK))
