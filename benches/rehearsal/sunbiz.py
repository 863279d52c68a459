"""The quarterly archive of Florida's registry, and a daily file for each night. SYNTHETIC: entities, agents and officers are invented; numbers have
99 behind their letter.

A record is put together from blocks that are made once: addresses, agents, officers, words of names. What a record has follows from its number alone."""
import datetime
import functools
import random
from hashlib import blake2b

from packing import pack_piece
from settings import ENTITIES
from words import CITIES, FIRST_NAMES, LAST_NAMES, PLACE_WORDS, STREET_TYPES, STREETS, TRADES

HOST = "sftp.floridados.gov/doc"
RECORDS_OF_A_CHUNK = 10_000
BLOCKS = 16_384
# Letter of the number, type of filing, where it was formed, words at the end of the name.
TYPES = ([(b"L", b"FLAL", b"FL", (b"LLC", b"L.L.C.", b"LLC"))] * 60 + [(b"P", b"DOMP", b"FL", (b"INC.", b"CORP.", b"INC", b"P.A."))] * 22
         + [(b"N", b"DOMNP", b"FL", (b"INC.", b"ASSOCIATION, INC.", b"FOUNDATION, INC."))] * 7 + [(b"M", b"FORL", b"DE", (b"LLC",))] * 6
         + [(b"F", b"FORP", b"NY", (b"INC.", b"CORPORATION"))] * 3 + [(b"A", b"DOMLP", b"FL", (b"L.P.", b"LTD"))] * 2)
PREFIXES = range(320, 350)
TITLES = ("MGR", "AMBR", "MGRM", "P", "D", "VP", "S", "T", "PD", "CEO", "AP", "DIR")
# Officers of an entity, by how many of a hundred have so many.
OFFICERS = [0] * 14 + [1] * 45 + [2] * 25 + [3] * 9 + [4] * 4 + [5] * 2 + [6]
BLANK = b" " * 128


@functools.cache
def blocks(seed):
    draw = random.Random(f"{seed}/sunbiz")
    choice = draw.choice

    def place():
        city = choice(CITIES).upper()
        return f"{draw.randint(1, 19999)} {choice(STREETS)} {choice(STREET_TYPES)}", city, f"{choice(PREFIXES):03d}{draw.randint(0, 99):02d}"

    def person():
        return f"{choice(LAST_NAMES).upper():<20.20}{choice(FIRST_NAMES).upper():<14.14}{choice('ABCDEFGHIJKLMNOPRSTW'):<8}"

    def organisation():
        return f"{choice(PLACE_WORDS).upper() + ' ' + choice(TRADES).upper() + ' ' + choice(('LLC', 'INC.')):<42.42}"

    def addresses():
        street, city, postal = place()
        suite = f"SUITE {draw.randint(100, 999)}" if draw.random() < 0.2 else ""
        return f"{street:<42}{suite:<42}{city:<28}{'':2}{postal:<10}{'US':2}{street:<42}{suite:<42}{city:<28}{'FL':2}{postal:<10}{'US':2}".encode()

    def agent():
        street, city, postal = place()
        is_person = draw.random() < 0.75
        return f"{person() if is_person else organisation()}{'P' if is_person else 'C'}{street:<42}{city:<28}{'FL':2}{postal:<5}{'':4}".encode()

    def officer():
        street, city, postal = place()
        is_person = draw.random() < 0.9
        name = f"P{person()}" if is_person else f"C{organisation()}"
        return f"{choice(TITLES):<4}{name}{street:<42}{city:<28}{'FL':2}{postal:<5}{'':4}".encode()

    def dates():
        day = datetime.date(1975, 1, 2) + datetime.timedelta(draw.randrange(18_500))
        return f"{day:%m%d%Y}".encode()

    return {"addresses": [addresses() for _ in range(BLOCKS)], "agents": [agent() for _ in range(BLOCKS)], "officers": [officer() for _ in range(BLOCKS)],
            "dates": [dates() for _ in range(BLOCKS)], "first": [word.upper().encode() for word in PLACE_WORDS],
            "second": [word.upper().encode() for word in LAST_NAMES[::7]], "third": [word.upper().encode() for word in TRADES],
            "fei": [b"00-%07d    " % draw.randrange(10_000_000) for _ in range(BLOCKS)],
            "reports": [b"".join(b"%d " % year + b"%02d%02d%d" % (draw.randint(1, 4), draw.randint(1, 28), year) for year in (2024, 2025, 2026))
                        for _ in range(256)]}


def record(seed, of, number, day=None):
    """The record of a number, with the line's end; with a day it is that of a daily file: the status changed."""
    bits = int.from_bytes(blake2b(b"%s/%d" % (seed, number), digest_size=24).digest(), "little")
    letter, filing_type, formed, designators = TYPES[(bits & 0xFFFF) % 100]
    first, second, third = of["first"], of["second"], of["third"]
    name = b"%s %s %s %s" % (first[(bits >> 16 & 0xFFFF) % len(first)], second[(bits >> 32 & 0xFFFF) % len(second)],
                             third[(bits >> 48 & 0xFFFF) % len(third)], designators[number % len(designators)])
    is_active = (bits >> 64 & 0xFF) < 105
    transaction = b"        "
    if day is not None:
        is_active, transaction = not is_active, day
    count, officers = OFFICERS[(bits >> 72 & 0xFFFF) % 100], of["officers"]
    people = [officers[(bits >> 88 + 14 * place) & 16_383] for place in range(count if count < 5 else 4)] + officers[:max(0, count - 4)]
    return b"".join((letter, b"99%09d" % number, name.ljust(192), b"A" if is_active else b"I", filing_type.ljust(15), of["addresses"][bits >> 144 & 16_383],
                     of["dates"][bits >> 158 & 16_383], of["fei"][bits >> 172 & 16_383], b"N", transaction, formed, of["reports"][bits >> 184 & 255],
                     of["agents"][bits >> 100 & 16_383], *people, BLANK * (6 - len(people)), b"\0\0\0\0\n"))


def numbers_of(settings, digit):
    """Chunks of the records of a member: those whose number ends in a digit."""
    entities = settings.number(ENTITIES, 100)
    for begin in range(digit, entities, RECORDS_OF_A_CHUNK * 10):
        yield range(begin, min(entities, begin + RECORDS_OF_A_CHUNK * 10), 10)


def chunk(settings, numbers):
    seed, of = str(settings.seed).encode(), blocks(settings.seed)
    return pack_piece(b"".join([record(seed, of, number) for number in numbers]))


def daily(settings, night, numbers):
    """Records of a night's daily file."""
    seed, of = str(settings.seed).encode(), blocks(settings.seed)
    day = datetime.date.fromordinal(settings.day(night)).strftime("%m%d%Y").encode()
    return b"".join([record(seed, of, number, day) for number in numbers])
