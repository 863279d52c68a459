"""ZIP archives that are packed by several processes and put together by one, in an order that does not depend on them."""
import struct
import threading
import zlib

LEVEL = 1
LOCAL = struct.Struct("<IHHHHHIIIHH")
CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
DEFLATED = 8
MOST_16, MOST_32 = 0xFFFF, 0xFFFFFFFF


def dos_time(when):
    """A datetime as the two numbers of a directory of MS-DOS: time and date."""
    return when.hour << 11 | when.minute << 5 | when.second // 2, (when.year - 1980) << 9 | when.month << 5 | when.day


def pack(members, stamp):
    """Packs whole members [(name, bytes)] -> (local entries, [(name, crc, packed, size)])."""
    parts, entries = [], []
    for name, content in members:
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
        packed = packer.compress(content) + packer.flush()
        name, crc = name.encode(), zlib.crc32(content)
        parts += LOCAL.pack(0x04034B50, 20, 0, DEFLATED, *stamp, crc, len(packed), len(content), len(name), 0), name, packed
        entries.append((name, crc, len(packed), len(content)))
    return b"".join(parts), entries


def pack_piece(content):
    """Packs a part of one member -> (packed, crc, size): such parts can be written one behind the other."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH), zlib.crc32(content), len(content)


class Archive:
    """A ZIP archive that is written from its beginning to its end; with ZIP64 where numbers need it."""

    def __init__(self, path, when):
        self.file, self.stamp = open(path, "wb"), dos_time(when)
        self.central, self.count, self.place, self.inflated = bytearray(), 0, 0, 0

    def _enter(self, name, crc, packed, size, place):
        extra = b""
        if max(packed, size, place) >= MOST_32:
            extra = struct.pack("<HHQQQ", 1, 24, size, packed, place)
            packed = size = place = MOST_32
        version = 45 if extra else 20
        self.central += CENTRAL.pack(0x02014B50, 3 << 8 | version, version, 0, DEFLATED, *self.stamp, crc, packed, size, len(name), len(extra), 0, 0, 0,
                                     0o644 << 16, place) + name + extra
        self.count += 1

    def add_packed(self, local, entries):
        """Adds members as `pack` made them."""
        self.file.write(local)
        for name, crc, packed, size in entries:
            self._enter(name, crc, packed, size, self.place)
            self.place += LOCAL.size + len(name) + packed
            self.inflated += size

    def add_pieces(self, name, pieces):
        """Adds one member of parts as `pack_piece` makes them."""
        name, begin, crc, packed, size = name.encode(), self.place, 0, 0, 0
        # Sizes are known at the end: room for numbers of 64 bits is kept.
        self.file.write(bytes(LOCAL.size + len(name) + 20))
        for part, part_crc, part_size in pieces:
            self.file.write(part)
            crc, packed, size = combined(crc, part_crc, part_size), packed + len(part), size + part_size
        self.file.write(b"\x03\x00")  # an empty last block
        packed += 2
        extra = struct.pack("<HHQQ", 1, 16, size, packed)
        self.file.seek(begin)
        self.file.write(LOCAL.pack(0x04034B50, 45, 0, DEFLATED, *self.stamp, crc, MOST_32, MOST_32, len(name), len(extra)) + name + extra)
        self.file.seek(0, 2)
        self._enter(name, crc, packed, size, begin)
        self.place += LOCAL.size + len(name) + len(extra) + packed
        self.inflated += size

    def finish(self):
        """Writes the directory -> (members, bytes inflated, bytes of the file)."""
        begin, size = self.place, len(self.central)
        self.file.write(self.central)
        if self.count >= MOST_16 or begin + size >= MOST_32:
            self.file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 3 << 8 | 45, 45, 0, 0, self.count, self.count, size, begin))
            self.file.write(struct.pack("<IIQI", 0x07064B50, 0, begin + size, 1))
        self.file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, min(self.count, MOST_16), min(self.count, MOST_16), min(size, MOST_32),
                                    min(begin, MOST_32), 0))
        total = self.file.tell()
        self.file.close()
        return self.count, self.inflated, total


# ---------------------------------------------------------------- checksum of parts

POLYNOMIAL = 0xEDB88320


def _times(a, b):
    product, bit = 0, 1 << 31
    while a:
        if a & bit:
            product ^= b
            a ^= bit
        bit >>= 1
        b = b >> 1 ^ POLYNOMIAL if b & 1 else b >> 1
    return product


_POWERS = [1 << 30]
for _ in range(40):
    _POWERS.append(_times(_POWERS[-1], _POWERS[-1]))


def combined(first, second, second_size):
    """The CRC-32 of two texts one behind the other."""
    shift, power = 1 << 31, 3
    while second_size:
        if second_size & 1:
            shift = _times(_POWERS[power], shift)
        second_size >>= 1
        power += 1
    return _times(shift, first) ^ second


# ---------------------------------------------------------------- processes

def in_order(pool, function, items, ahead):
    """Results in the order of the items; at most `ahead` of them wait, so that memory stays bounded."""
    if pool is None:
        yield from map(function, items)
        return
    room = threading.Semaphore(ahead)

    def taken():
        for item in items:
            room.acquire()
            yield item

    for result in pool.imap(function, taken()):
        yield result
        room.release()
