"""Reads a file of TensorBoard's scalars, checksums and all, without TensorBoard."""

import struct

CRC32C = [0] * 256
for number in range(256):
    crc = number
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    CRC32C[number] = crc


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, of_length = struct.unpack_from("<QI", data)
        body = data[12 : 12 + length]
        assert of_length == masked_crc(data[:8]) and len(body) == length
        assert struct.unpack_from("<I", data, 12 + length) == (masked_crc(body),)
        yield body
        data = data[16 + length :]


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return number, at


def fields(data):
    """(number, value) of each field of a message in protocol buffers' encoding."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            form = {1: "<d", 5: "<f"}[key & 7]
            (value,) = struct.unpack_from(form, data, at)
            at += struct.calcsize(form)
        yield key >> 3, value


def events(path):
    """(step, what): a dict of scalars, "start" of a session, or the version of the file. Wall times must not fall."""
    last = 0
    for record in records(path.read_bytes()):
        event = dict(fields(record))
        assert event[1] >= last
        last = event[1]
        if 3 in event:
            yield event.get(2, 0), event[3].decode()
        elif 7 in event:
            assert dict(fields(event[7])) == {1: 1}
            yield event[2], "start"
        else:
            values = (dict(fields(value)) for number, value in fields(event[5]) if number == 1)
            yield event[2], {value[1].decode(): value[2] for value in values}
