"""`spark-submit nightly.py --store URL --binary PATH`: see pubdata_spark.py, which must be in the same folder."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pubdata_spark import main  # noqa: E402

sys.exit(main())
