"""Words that invented names are put together from, and the states with their ZIP codes. Nobody is meant: last names are made of
syllables, telephones are 555-0100 to 555-0199."""

STARTS = ("Al Bar Ben Bren Cal Cor Dal Den Dor El Fal Far Gar Gil Hal Har Hol Jas Kel Ken Lan Lor Mar Mel Nor Or Pal Per Quin Ral "
          "Ros Sal Sel Tal Tor Ul Val Ver Wal Wes Wil Yar Zan").split()
MIDDLES = "a an ar be ding e en er i in is li lo man mi na o on or ra ri ro ta ti va".split()
ENDS = "beck berg by dale den don field ford ham land ler ley man mer mont more ner ridge ris sen son stad ster ton vale ver well wick worth".split()

# 42 x 25 x 30 last names; the shorter ones are words of companies too.
LAST_NAMES = [start + middle + end for start in STARTS for middle in MIDDLES for end in ENDS]
PLACE_WORDS = [start + end for start in STARTS for end in ENDS]
FIRST_NAMES = ("Ada Alan Amy Ann Beth Carl Carmen Chen Clara Dana David Dora Earl Elena Emil Eva Felix Flora Frank Gina Grace Hana "
               "Hugo Ida Ines Iris Ivan Jack Jane Joan Jose Juan Julia Karl Kim Lena Leo Lila Lucy Luis Luz Marta Max Mina Nina Noah "
               "Nora Olga Omar Oscar Paul Petra Rosa Ruth Sam Sara Tara Theo Uma Vera Walt Wanda Yoko Zoe").split()
TRADES = ("Advisors Agriculture Analytics Apparel Aviation Bakery Bancorp Biologics Brands Builders Capital Care Catering Cement "
          "Chemicals Cleaning Components Concrete Consulting Controls Dental Design Devices Digital Dynamics Education Electric Energy "
          "Engineering Equipment Events Express Farms Financial Fitness Foods Freight Gardens Glass Global Grading Group Health "
          "Holdings Homes Imports Industries Insurance Interiors Investments Jewelers Kitchens Labs Landscaping Leasing Lighting "
          "Logistics Machine Management Marine Marketing Materials Media Medical Metals Mining Motors Networks Optics Outdoors "
          "Packaging Painting Partners Petroleum Pharma Photography Plumbing Power Press Printing Products Properties Realty "
          "Recycling Remodeling Resources Restaurants Robotics Roofing Salon Security Services Software Solar Solutions Storage "
          "Studio Supply Systems Technologies Telecom Textiles Therapeutics Tile Title Tools Towing Trading Transport Travel "
          "Trucking Utilities Ventures Water Wellness Windows Works").split()
STREETS = ("Sample Invented Example Fictional Imaginary Specimen Pretended Modelled Assumed Placeholder Nominal Notional").split()
STREET_TYPES = "ST AVE RD BLVD DR LN CT WAY PL TER".split()
CITIES = ("Springfield Franklin Greenville Clinton Fairview Salem Madison Georgetown Arlington Ashland Dover Oxford Jackson Burlington "
          "Manchester Milton Newport Auburn Centerville Dayton Lexington Milford Riverside Cleveland Hudson Kingston Mount Vernon "
          "Oakland Winchester Bristol").replace("Mount Vernon", "Mount_Vernon").split()
CITIES = [city.replace("_", " ") for city in CITIES]

# Postal code, FIPS code, counties, first and last three-digit ZIP code prefix, people in hundred thousands.
STATES = [(code, fips, int(counties), int(first), int(last), int(people)) for code, fips, counties, first, last, people in (
    line.split() for line in """PR 72 78 006 009 33
MA 25 14 010 027 70
RI 44 5 028 029 11
NH 33 10 030 038 14
ME 23 16 039 049 14
VT 50 14 050 059 6
CT 09 9 060 069 36
NJ 34 21 070 089 93
NY 36 62 100 149 198
PA 42 67 150 196 130
DE 10 3 197 199 10
DC 11 1 200 205 7
MD 24 24 206 219 62
VA 51 133 220 246 87
WV 54 55 247 268 18
NC 37 100 270 289 107
SC 45 46 290 299 53
GA 13 159 300 319 109
FL 12 67 320 349 222
AL 01 67 350 369 51
TN 47 95 370 385 70
MS 28 82 386 397 29
KY 21 120 400 427 45
OH 39 88 430 459 118
IN 18 92 460 479 68
MI 26 83 480 499 100
IA 19 99 500 528 32
WI 55 72 530 549 59
MN 27 87 550 567 57
SD 46 66 570 577 9
ND 38 53 580 588 8
MT 30 56 590 599 11
IL 17 102 600 629 126
MO 29 115 630 658 62
KS 20 105 660 679 29
NE 31 93 680 693 20
LA 22 64 700 714 46
AR 05 75 716 729 30
OK 40 77 730 749 40
TX 48 254 750 799 300
CO 08 64 800 816 58
WY 56 23 820 831 6
ID 16 44 832 838 19
UT 49 29 840 847 34
AZ 04 15 850 865 74
NM 35 33 870 884 21
NV 32 17 889 898 32
CA 06 58 900 961 390
HI 15 5 967 968 14
OR 41 36 970 979 42
WA 53 39 980 994 78
AK 02 30 995 999 7""".splitlines())]


def telephone(area, number):
    """A telephone of the block that is kept for invented ones."""
    return f"{area % 700 + 201:03d}55501{number % 100:02d}"
