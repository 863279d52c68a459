"""The ten tables of each vintage of the five-year survey whole, with their geography files, and the Gazetteer and relationship files of the same areas.
SYNTHETIC: areas have codes in the Bureau's form, counties and ZCTAs as many as published; every figure and most names are invented.

Counties and ZCTAs, which are published, have figures of their own; all other areas take theirs from a few thousand profiles."""
import io
import os
import zipfile
from math import isqrt

from settings import GOLDEN
from words import PLACE_WORDS, STATES

HOST = "www2.census.gov"
FIRST_VINTAGE = 2021
TABLES = {"b01002": 3, "b01003": 1, "b11001": 9, "b15003": 25, "b17001": 59, "b19013": 1, "b23025": 7, "b25003": 3, "b25064": 1, "b25077": 1}
MEDIANS = ("b01002", "b19013", "b25064", "b25077")
NOT_FOR_BLOCK_GROUPS = "b17001"
PROFILES = 4096
ZCTAS, ZCTAS_OF_THE_SURVEY = 33_791, 33_772
# Summary levels by prefix of their codes, how many areas there are, how the code goes on, about how many people live there. What is not named here are
# combinations of these.
LEVELS = (("0600000US", 36_600, "county5", 9_000), ("0700000US", 81_000, "county10", 4_000), ("1400000US", 85_400, "county6", 3_900),
          ("1500000US", 242_300, "county7", 1_380), ("1550000US", 41_000, "place3", 8_000), ("1600000US", 32_000, "state5", 8_000),
          ("2500000US", 700, "plain4", 9_000), ("310M700US", 935, "plain5", 300_000), ("330M700US", 180, "plain3", 900_000),
          ("400C200US", 2_611, "plain5", 90_000), ("5001800US", 437, "state2", 760_000), ("610U900US", 1_960, "state3", 170_000),
          ("620L900US", 4_800, "state3", 68_000), ("7950000US", 2_487, "state5", 130_000), ("9500000US", 1_900, "state5", 20_000),
          ("9600000US", 480, "state5", 40_000), ("9700000US", 10_900, "state5", 28_000), ("0400001US", 52, "state0", 3_000_000),
          ("0400043US", 52, "state0", 900_000), ("7960000US", 56_000, "county9", 3_000))
AGES = (31, 6, 36, 19, 6, 13, 45, 61, 58, 54, 55, 42, 30)
SCHOOL = (15, 1, 1, 1, 2, 3, 4, 9, 7, 12, 16, 18, 17, 22, 17, 225, 41, 60, 140, 87, 210, 95, 22, 15)


def vintages(day):
    """Vintages that are out on a day: each in the December of the year after it."""
    return range(FIRST_VINTAGE, day.year - (1 if day.month == 12 else 2) + 1)


def parts(total, weights, turn):
    """A total in parts, by weights that are turned by some places for variety."""
    turn %= len(weights)
    weights = weights[turn:] + weights[:turn] if turn % 3 == 2 else weights
    whole = sum(weights)
    shares = [total * weight // whole for weight in weights]
    shares[turn] += total - sum(shares)
    return shares


def cells(numbers):
    return "".join([f"|{number}|{isqrt(number) * 3 // 2 + 9}" for number in numbers]) + "\n"


NO_MEDIAN = "|-666666666|-222222222"


def median(draw, low, high, top, has_jams):
    chance = draw.random()
    if has_jams and chance < 0.07:
        return NO_MEDIAN + "\n"
    if has_jams and chance > 0.997:
        return f"|{top}|-333333333\n"
    value = int(low * (high / low) ** (chance * 0.9))
    return f"|{value}|{value // 11 + 3}\n"


def profile(draw, people, is_controlled, has_jams):
    """One area's rest of the line in each table, in their order; the tables agree with each other."""
    people = int(people * draw.uniform(0.4, 1.9)) + 20
    if has_jams and draw.random() < 0.008:
        return [(NO_MEDIAN if table in MEDIANS else "|0|14") * lines + "\n" for table, lines in TABLES.items()]
    turn = draw.randrange(1_000)
    households = people * 10 // draw.randint(21, 31) + 1
    owners = households * draw.randint(300, 850) // 1000
    families = households * draw.randint(500, 750) // 1000
    couples = families * 3 // 4
    male = (families - couples) // 3
    alone = (households - families) * 4 // 5
    adults = people * draw.randint(620, 750) // 1000
    judged = people * 49 // 50
    poor = judged * draw.randint(20, 300) // 1000
    poverty = [judged, poor]
    for place, number in enumerate((poor, judged - poor)):
        if place:
            poverty.append(number)
        men = number * 48 // 100
        poverty += [men, *parts(men, AGES, turn), number - men, *parts(number - men, AGES, turn + 5)]
    grown = people * 4 // 5
    force = grown * draw.randint(480, 720) // 1000
    soldiers = force // 300 if turn % 9 == 0 else 0
    jobless = (force - soldiers) * draw.randint(10, 110) // 1000
    age = 250 + turn % 300
    total = f"|{people}|-555555555\n" if is_controlled else cells((people,))
    return ["".join(f"|{number // 10}.{number % 10}|{turn % 7}.{turn % 10}" for number in (age, age - 13, age + 15)) + "\n", total,
            cells((households, families, couples, families - couples, male, families - couples - male, households - families, alone,
                   households - families - alone)),
            cells((adults, *parts(adults, SCHOOL, turn))), cells(poverty), median(draw, 21_000, 240_000, 250_001, has_jams),
            cells((grown, force, force - soldiers, force - soldiers - jobless, jobless, soldiers, grown - force)),
            cells((households, owners, households - owners)),
            median(draw, 420, 3_300, 3_501, has_jams), median(draw, 45_000, 1_700_000, 2_000_001, has_jams)]


# ---------------------------------------------------------------- areas

class Areas:
    """Counties, ZCTAs and all other areas of a mirror. What there is of each state is in proportion to its counties."""

    def __init__(self, settings):
        self.settings = settings
        scale = min(1.0, settings.scale)
        self.counties = []  # (state, code, name)
        for state in STATES:
            for place in range(max(1, round(state[2] * scale))):
                # Connecticut's planning regions are numbered by tens.
                number = 110 + 10 * place if state[0] == "CT" else 2 * place + 1
                word = PLACE_WORDS[(len(self.counties) * 367) % len(PLACE_WORDS)]
                kind = {"CT": "Planning Region", "PR": "Municipio"}.get(state[0], "County")
                self.counties.append((state, f"{state[1]}{number:03d}", f"{word} {kind}"))
        # The relationship file of 2020 knows Connecticut's old counties only: its ZCTAs are left out.
        prefixes = [(prefix, state) for state in STATES if state[0] != "CT" for prefix in range(state[3], state[4] + 1)]
        codes = [(f"{prefix:03d}{number:02d}", state) for prefix, state in prefixes for number in range(1, 100)]
        wanted = settings.number(ZCTAS, 30) if scale < 1 else ZCTAS
        self.zctas = [codes[place * len(codes) // wanted] for place in range(wanted)]
        without = set() if scale < 1 else {len(self.zctas) * place // 19 for place in range(ZCTAS - ZCTAS_OF_THE_SURVEY)}
        self.surveyed = [zcta for place, zcta in enumerate(self.zctas) if place not in without]
        self.of_state = {}
        for county in self.counties:
            self.of_state.setdefault(county[0][0], []).append(county)
        self.scale = scale

    def others(self):
        """Levels that are not published: (prefix, people, codes)."""
        counties = [county[1] for county in self.counties]
        for prefix, published, form, people in LEVELS:
            count = max(2, round(published * self.scale))
            kind, digits = form.rstrip("0123456789"), int(form.lstrip("abcdefghijklmnopqrstuvwxyz"))
            begin = 10 ** digits // (2 if digits else 1)
            if kind == "state":
                numbers = range(count) if digits else range(min(count, 52))
                yield prefix, people, [STATES[place % 52][1] + (f"{place // 52 + 1:0{digits}d}" if digits else "") for place in numbers]
            elif kind == "plain":
                yield prefix, people, [f"{place + begin // 50:0{digits}d}" for place in range(count)]
            elif kind == "place":
                in_county = [(counties[place % len(counties)], place // len(counties) * 7 + 100) for place in range(count)]
                yield prefix, people, [f"{county[:2]}{number:05d}{county[2:]}" for county, number in in_county]
            else:
                # One county after the other, as the Bureau lists them.
                each = -(-count // len(counties))
                yield prefix, people, [f"{counties[place // each]}{(place % each + 1) * 100:0{digits}d}" for place in range(count)]

    def county_of(self, place):
        code, state = self.zctas[place]
        counties = self.of_state[state[0]]
        return counties[place * 7 % len(counties)]


HEADINGS_OF_NAMES = ("FILEID|STUSAB|SUMLEVEL|COMPONENT|US|REGION|DIVISION|STATE|COUNTY|COUSUB|PLACE|TRACT|BLKGRP|CONCIT|AIANHH|AIANHHFP|AIHHTLI|AITS|AITSFP|"
                     "ANRC|CBSA|CSA|METDIV|MACC|MEMI|NECTA|CNECTA|NECTADIV|UA|CDCURR|SLDU|SLDL|ZCTA5|SUBMCD|SDELM|SDSEC|SDUNI|UR|PCI|PUMA5|GEO_ID|NAME|BTTR|"
                     "BTBG|TL_GEO_ID\n")


def write_vintage(settings, areas, root, vintage):
    """The ten tables and the names of the areas of a vintage -> paths of the files."""
    folder = os.path.join(root, HOST, f"programs-surveys/acs/summary_file/{vintage}/table-based-SF")
    data, documentation = os.path.join(folder, "data/5YRData"), os.path.join(folder, "documentation")
    os.makedirs(data, exist_ok=True)
    os.makedirs(documentation, exist_ok=True)
    files = [open(os.path.join(data, f"acsdt5y{vintage}-{table}.dat"), "w", encoding="ascii", buffering=1 << 20) for table in TABLES]
    names = open(os.path.join(documentation, f"Geos{vintage}5YR.txt"), "w", encoding="utf-8", buffering=1 << 20)
    names.write(HEADINGS_OF_NAMES)
    for file, (table, lines) in zip(files, TABLES.items()):
        name = table.upper()
        file.write("|".join(["GEO_ID", *(f"{name}_{kind}{line:03d}" for line in range(1, lines + 1) for kind in "EM")]) + "\n")
    draw = settings.random("acs", vintage)

    def write(prefix, geo_ids, profiles):
        for place, (table, file) in enumerate(zip(TABLES, files)):
            if prefix != "1500000US" or table != NOT_FOR_BLOCK_GROUPS:
                file.write("".join([geo_id + of[place] for geo_id, of in zip(geo_ids, profiles)]))

    def name(prefix, rows):
        before, behind = f"|{prefix[:3]}|{prefix[5:7]}||||", "||||||||||||||||||.|.|||||||||||||"
        names.write("".join([f"ACSSF|{state}{before}{fips}|{county}{behind}{geo_id}|{text}|||\n" for state, fips, county, geo_id, text in rows]))

    write("0100000US", ["0100000US"], [profile(draw, 330_000_000, True, False)])
    name("0100000US", [("US", "", "", "0100000US", "United States")])
    write("0400000US", ["0400000US" + state[1] for state in STATES], [profile(draw, state[5] * 100_000, True, False) for state in STATES])
    name("0400000US", [(state[0], state[1], "", "0400000US" + state[1], state[0]) for state in STATES])
    people = [state[5] * 100_000 // state[2] for state, _, _ in areas.counties]
    write("0500000US", ["0500000US" + code for _, code, _ in areas.counties], [profile(draw, number, True, False) for number in people])
    name("0500000US", [(state[0], state[1], code[2:], "0500000US" + code, f"{text}, {state[0]}") for state, code, text in areas.counties])
    for prefix, number, codes in areas.others():
        pool = [profile(draw, number, False, True) for _ in range(min(PROFILES, len(codes)))]
        for begin in range(0, len(codes), 20_000):
            some = codes[begin:begin + 20_000]
            geo_ids = [prefix + code for code in some]
            write(prefix, geo_ids, draw.choices(pool, k=len(some)))
            name(prefix, [("", code[:2], "", geo_id, f"Synthetic area {code}") for code, geo_id in zip(some, geo_ids)])
    write("860Z200US", ["860Z200US" + code for code, _ in areas.surveyed], [profile(draw, 9_000, False, True) for _ in areas.surveyed])
    name("860Z200US", [("US", "", "", "860Z200US" + code, f"ZCTA5 {code}") for code, _ in areas.surveyed])
    for file in [*files, names]:
        file.close()
    return [file.name for file in [*files, names]]


# ---------------------------------------------------------------- Gazetteer, relationships

def zipped(name, text, moment):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        info = zipfile.ZipInfo(name, moment.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, text, compresslevel=1)
    return buffer.getvalue()


def reference_files(settings, areas):
    """Gazetteer of ZCTAs and of counties and the relationship file -> [(address, content)]."""
    moment = settings.moment(0)
    year = max(2025, moment.year if moment.month >= 10 else moment.year - 1)
    draw = settings.random("areas")
    land = {code: draw.randint(20_000_000, 900_000_000) for code, _ in areas.zctas}

    def rows(heads):
        # Places lie on a grid: what is near in the list is near on the map.
        for place, (head, code, area) in enumerate(heads):
            water = area // 90
            lat, lon = 25 + place * GOLDEN % 24, -68 - place * 57 / max(1, len(heads))
            yield f"{head}|{area}|{water}|{area / 2_589_988.110336:.3f}|{water / 2_589_988.110336:.3f}|{lat:.6f}|{lon:.6f}\n"

    zctas = "GEOID|GEOIDFQ|ALAND|AWATER|ALAND_SQMI|AWATER_SQMI|INTPTLAT|INTPTLONG\n" + "".join(
        rows([(f"{code}|860Z200US{code}", code, land[code]) for code, _ in areas.zctas]))
    county_land = {code: draw.randint(300_000_000, 9_000_000_000) for _, code, _ in areas.counties}
    counties = "USPS|GEOID|GEOIDFQ|ANSICODE|NAME|ALAND|AWATER|ALAND_SQMI|AWATER_SQMI|INTPTLAT|INTPTLONG\n" + "".join(
        rows([(f"{state[0]}|{code}|0500000US{code}|{int(code):08d}|{text}", code, county_land[code]) for state, code, text in areas.counties]))
    lines = ["\ufeffOID_ZCTA5_20|GEOID_ZCTA5_20|NAMELSAD_ZCTA5_20|AREALAND_ZCTA5_20|AREAWATER_ZCTA5_20|MTFCC_ZCTA5_20|CLASSFP_ZCTA5_20|FUNCSTAT_ZCTA5_20|"
             "OID_COUNTY_20|GEOID_COUNTY_20|NAMELSAD_COUNTY_20|AREALAND_COUNTY_20|AREAWATER_COUNTY_20|MTFCC_COUNTY_20|CLASSFP_COUNTY_20|FUNCSTAT_COUNTY_20|"
             "AREALAND_PART|AREAWATER_PART\n"]
    number = 27_590_100_000_000
    for place, (code, state) in enumerate(areas.zctas):
        area, own = land[code], areas.county_of(place)
        others = [county for county in areas.of_state[state[0]][place % 7:place % 7 + 1] if county != own] if place % 10 < 4 else []
        parts_of_land = [(own, area - area // 5 if others else area), *((county, area // 5) for county in others)]
        for (_, county, text), part in parts_of_land:
            lines.append(f"{number + place}|{code}|ZCTA5 {code}|{area}|{area // 90}|G6350|B5|S|{number + int(county)}|{county}|{text}|{county_land[county]}|"
                         f"{county_land[county] // 90}|G4020|H1|A|{part}|{part // 90}\n")
    base = f"{HOST}/geo/docs/maps-data/data"
    gazetteer = f"{base}/gazetteer/{year}_Gazetteer/{year}_Gaz"
    return [(f"{gazetteer}_zcta_national.zip", zipped(f"{year}_Gaz_zcta_national.txt", zctas, moment)),
            (f"{gazetteer}_counties_national.zip", zipped(f"{year}_Gaz_counties_national.txt", counties, moment)),
            (f"{base}/rel2020/zcta520/tab20_zcta520_county20_natl.txt", "".join(lines).encode())]
