#!/usr/bin/env python3
"""generate.py: a synthetic mirror of the publishers' sites, of a night as large as the real one.

usage: generate.py DEST [--scale F] [--families sec,business,license,census] [--seed N] [--jobs N] [--changed PERCENT --night N]

DEST/<host>/<path> holds what https://<host>/<path> would serve, for `pubdata run --mirror DEST`. Every value of the large files is SYNTHETIC: companies,
registrants, entities, providers and persons are invented, and so are all figures, addresses and telephones; their numbers have the publishers' forms
and were given out to nobody. All other files are those of fixtures/*/*/basic/source, as they are.

--scale F     part of the published size (default 1.0); below 1 the mirror says that it holds samples
--families    which large files are made; of the other families there are the fixtures
--night N     the mirror N nights later: the SEC's archives are compiled anew, and in each night so many percent of the companies' facts, of the
              registrants' submissions, of the registry's rows (in a daily file) and of NPPES's rows changed as --changed says (default 0);
              everything else is byte for byte the same
--samples     the mirror says that it holds samples even at full scale
--no-fixtures nothing but the large files
--date        day of night 0; the same seed, scale, date, percent and night make the same bytes, with any number of --jobs

Standard library only."""
import argparse
import datetime
import functools
import glob
import itertools
import multiprocessing
import os
import shutil
import sys
import time
import zipfile

sys.dont_write_bytecode = True

import acs
import facts
import nppes
import submissions
import sunbiz
from packing import Archive, dos_time, in_order
from settings import Settings

MARKER = ".pubdata-mirror"
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures")
FAMILIES = {"sec": ("sec/financials", "sec/submissions"), "business": ("business/fl_sunbiz",), "license": ("license/nppes",),
            "census": ("census/acs5", "census/gazetteer", "census/zcta_county")}
SELECTORS = {"sec": "sec.submissions sec.financials", "business": "business.fl_sunbiz", "license": "license.nppes", "census": "census.gazetteer census.acs5"}


HEAD_OF_INDEX = ("Description:           XBRL Index of EDGAR Dissemination Feed\nComments:              SYNTHETIC\n \n \n"
                 "CIK|Company Name|Form Type|Date Filed|Filename\n" + "-" * 80 + "\n")
VINTAGE = acs.HOST + "/programs-surveys/acs/summary_file/{}/table-based-SF/documentation/"


class Mirror:
    """The folder that is written, with the time that each file shall have."""

    def __init__(self, root, settings, pool):
        self.root, self.settings, self.pool = root, settings, pool

    def path(self, address):
        path = os.path.join(self.root, address)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def enter(self, path, night):
        seconds = self.settings.moment(night).timestamp()
        os.utime(path, (seconds, seconds))

    def put(self, address, content, night=0):
        path = self.path(address)
        with open(path, "wb") as file:
            file.write(content)
        self.enter(path, night)

    def in_order(self, function, items):
        return in_order(self.pool, functools.partial(called, function), items, 12)

    def finish(self, archive, address, began, night):
        count, inflated, size = archive.finish()
        self.enter(self.path(address), night)
        told(f"{address}: {count:,} members, {inflated / 1e9:.2f} GB inflated, {size / 1e6:,.0f} MB", began)


def begin(settings):
    """What a process knows from its beginning."""
    called.settings = settings


def called(function, item):
    return function(called.settings, item)


def told(text, began):
    print(f"{text}, {time.monotonic() - began:.0f} s", flush=True)


def chunks(length, size):
    return (range(begin, min(length, begin + size)) for begin in range(0, length, size))


# ---------------------------------------------------------------- the five lists

def facts_chunk(settings, numbers):
    return facts.chunk(settings, dos_time(settings.moment()), numbers)


def submissions_chunk(settings, numbers):
    return submissions.chunk(settings, dos_time(settings.moment()), numbers)


def daily_chunk(settings, night_and_numbers):
    return sunbiz.daily(settings, *night_and_numbers)


def vintage_files(settings, root_and_vintage):
    return acs.write_vintage(settings, acs.Areas(settings), *root_and_vintage)


def write_sec(mirror):
    settings, night, base = mirror.settings, mirror.settings.night, "www.sec.gov/Archives/edgar"
    began, address = time.monotonic(), f"{base}/daily-index/xbrl/companyfacts.zip"
    archive, quarters = Archive(mirror.path(address), settings.moment()), {}
    for local, entries, rows in mirror.in_order(facts_chunk, chunks(settings.companies, 8)):
        archive.add_packed(local, entries)
        for quarter, lines in rows.items():
            quarters.setdefault(quarter, []).append(lines)
    mirror.finish(archive, address, began, night)
    for quarter, lines in sorted(quarters.items()):
        if quarter < "2009/QTR2":
            continue
        mirror.put(f"{base}/full-index/{quarter}/xbrl.idx", (HEAD_OF_INDEX + "".join(lines)).encode(), night if quarter == max(quarters) else 0)
    began, address = time.monotonic(), f"{base}/daily-index/bulkdata/submissions.zip"
    archive = Archive(mirror.path(address), settings.moment())
    for local, entries in mirror.in_order(submissions_chunk, chunks(settings.registrants, 1_000)):
        archive.add_packed(local, entries)
    mirror.finish(archive, address, began, night)
    for name, text in submissions.tickers(settings):
        mirror.put(f"www.sec.gov/files/{name}", text.encode())


def write_business(mirror):
    settings = mirror.settings
    began, address = time.monotonic(), f"{sunbiz.HOST}/quarterly/cor/cordata.zip"
    day = datetime.date.fromordinal(settings.first)
    archive = Archive(mirror.path(address), datetime.datetime(day.year, (day.month - 1) // 3 * 3 + 1, 1, 6))
    members = [list(sunbiz.numbers_of(settings, digit)) for digit in range(10)]
    pieces = mirror.in_order(sunbiz.chunk, itertools.chain.from_iterable(members))
    for digit in range(10):
        archive.add_pieces(f"cordata{digit}.txt", itertools.islice(pieces, len(members[digit])))
    next(pieces, None)
    mirror.finish(archive, address, began, 0)
    for night in settings.nights():
        began, entities = time.monotonic(), settings.number(sunbiz.ENTITIES, 100)
        numbers = sorted(settings.changed("sunbiz", night, entities))
        address = f"{sunbiz.HOST}/cor/{datetime.date.fromordinal(settings.day(night)):%Y%m%d}c.txt"
        with open(mirror.path(address), "wb") as file:
            for records in mirror.in_order(daily_chunk, ((night, numbers[place.start:place.stop]) for place in chunks(len(numbers), 10_000))):
                file.write(records)
        mirror.enter(mirror.path(address), night)
        told(f"{address}: {len(numbers):,} records", began)


def write_license(mirror):
    settings = mirror.settings
    day = datetime.date.fromordinal(settings.first).replace(day=1) - datetime.timedelta(1)
    name = f"NPPES_Data_Dissemination_{day:%B_%Y}_V2.zip"
    mirror.put(f"{nppes.HOST}/NPI_Files.html", f'<html><body>\n<a href="./{name}">NPPES Data Dissemination, synthetic</a>\n</body></html>\n'.encode())
    with zipfile.ZipFile(glob.glob(os.path.join(FIXTURES, "license/nppes/basic/source", nppes.HOST, "*.zip"))[0]) as fixture:
        headings = fixture.read(next(member for member in fixture.namelist() if member.endswith("_fileheader.csv")))
    began, address = time.monotonic(), f"{nppes.HOST}/{name}"
    archive = Archive(mirror.path(address), settings.moment())
    pieces = mirror.in_order(nppes.chunk, nppes.chunks(settings))
    heading = nppes.pack_piece(headings.splitlines()[0] + b"\n")
    archive.add_pieces(f"npidata_pfile_20050523-{day:%Y%m}11.csv", itertools.chain([heading], pieces))
    archive.add_pieces(f"npidata_pfile_20050523-{day:%Y%m}11_fileheader.csv", [heading])
    mirror.finish(archive, address, began, settings.night)


def write_census(mirror):
    settings, areas, began = mirror.settings, acs.Areas(mirror.settings), time.monotonic()
    for address, content in acs.reference_files(settings, areas):
        mirror.put(address, content)
    years = acs.vintages(datetime.date.fromordinal(settings.first))
    shells = glob.glob(os.path.join(FIXTURES, "census/acs5/basic/source", VINTAGE.format("*"), "ACS*_Table_Shells.txt"))
    for vintage, paths in zip(years, mirror.in_order(vintage_files, ((mirror.root, vintage) for vintage in years))):
        for path in paths:
            mirror.enter(path, 0)
        with open(max(shells), "rb") as file:
            mirror.put(f"{VINTAGE.format(vintage)}ACS{vintage}5YR_Table_Shells.txt", file.read())
        told(f"ACS {vintage}: {len(paths)} files, {sum(map(os.path.getsize, paths)) / 1e6:,.0f} MB", began)


WRITERS = {"sec": write_sec, "business": write_business, "license": write_license, "census": write_census}


# ---------------------------------------------------------------- the rest

def copy_fixtures(mirror, families):
    """Every file of the fixtures but those of the pipelines whose files are made."""
    made, count = {pipeline for family in families for pipeline in FAMILIES[family]}, 0
    for source in sorted(glob.glob(os.path.join(FIXTURES, "*/*/basic/source"))):
        family, pipeline = os.path.relpath(source, FIXTURES).split(os.sep)[:2]
        if f"{family}/{pipeline}" in made:
            continue
        for folder, folders, names in os.walk(source):
            folders.sort()
            for name in sorted(names):
                if name == MARKER:
                    continue
                path = mirror.path(os.path.relpath(os.path.join(folder, name), source))
                shutil.copyfile(os.path.join(folder, name), path)
                mirror.enter(path, 0)
                count += 1
    return count


def prepare(root):
    """Only an empty folder or an earlier mirror is written over."""
    if os.path.isdir(root) and os.listdir(root):
        if not os.path.exists(os.path.join(root, MARKER)):
            raise SystemExit(f"generate.py: {root} is not empty and not a mirror; refusing to replace it")
        shutil.rmtree(root)
    os.makedirs(root, exist_ok=True)


def mark(root, is_sample):
    """Says what the mirror is, from the beginning: what is half written is a mirror, which may be replaced."""
    with open(os.path.join(root, MARKER), "w") as file:
        file.write(f"# Synthetic: made by benches/rehearsal/generate.py.\nsample = {'true' if is_sample else 'false'}\n")
    with open(os.path.join(root, "SYNTHETIC.md"), "w") as file:
        file.write("The large files of this mirror are synthetic, and nobody and nothing in them is real: see benches/rehearsal/README.md.\n"
                   "All other files are those of fixtures/; the CASE.md of each says which of their figures are published ones.\n")


def main(arguments):
    parser = argparse.ArgumentParser(prog="generate.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dest", metavar="DEST")
    parser.add_argument("--scale", type=float, default=1.0, metavar="F")
    parser.add_argument("--families", default=",".join(FAMILIES), metavar="LIST")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--changed", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--night", type=int, default=0, metavar="N")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date(2026, 11, 2), metavar="YYYY-MM-DD")
    parser.add_argument("--samples", action="store_true")
    parser.add_argument("--no-fixtures", action="store_true")
    options = parser.parse_args(arguments)
    families = [family for family in options.families.split(",") if family]
    unknown = [family for family in families if family not in FAMILIES]
    if unknown or options.scale <= 0 or options.night < 0 or not 0 <= options.changed <= 100:
        parser.error(f"no such family: {unknown[0]}" if unknown else "a scale is above 0, a night is not below 0, a percentage is 0 to 100")
    if options.changed and not options.night:
        parser.error("--changed says what changes in a night: --night N is missing")
    began, settings = time.monotonic(), Settings(options.seed, options.scale, options.date, options.night, options.changed)
    prepare(options.dest)
    mark(options.dest, options.samples or options.scale < 1)
    begin(settings)
    pool = multiprocessing.get_context("fork").Pool(options.jobs, begin, (settings,)) if options.jobs > 1 else None
    mirror = Mirror(options.dest, settings, pool)
    if not options.no_fixtures:
        print(f"{copy_fixtures(mirror, families)} files of the fixtures")
    for family in families:
        WRITERS[family](mirror)
    if pool:
        pool.close()
        pool.join()
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(options.dest) for name in names)
    told(f"{options.dest}: {size / 1e9:.2f} GB, night {settings.night}", began)
    print(f"pubdata run --mirror {options.dest} {' '.join(SELECTORS[family] for family in families)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
