"""Sends the rows of a Parquet file, column by column.

src/shards/convert/parquet/parquet_stream.h says how: standard input is a socket over which the bytes of the file are
asked for and the rows are sent.
"""

import argparse
import base64
import io
import json
import os
import socket
import struct

#: Of a batch, about; and rows of one at most.
BATCH_BYTES = 4 << 20
BATCH_ROWS = 4096
DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}


class Refused(Exception):
    """What somebody is to be told."""


class Channel:
    def __init__(self):
        self.socket = socket.socket(fileno=os.dup(0))
        os.dup2(2, 1)  # what libraries print goes to standard error

    def send(self, head, parts=()):
        text = json.dumps(head).encode()
        self.socket.sendall(struct.pack("<q", len(text)) + text)
        for part in parts:
            self.socket.sendall(part)

    def receive_into(self, memory):
        view = memoryview(memory)
        while len(view) > 0:
            received = self.socket.recv_into(view)
            if received == 0:
                os._exit(1)  # whoever asked is gone
            view = view[received:]


class RemoteFile(io.RawIOBase):
    """A file of which the other side of the channel has the bytes."""

    def __init__(self, channel, size):
        super().__init__()
        self.channel, self.size, self.at = channel, size, 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        self.at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size}[whence]
        return self.at

    def tell(self):
        return self.at

    def readinto(self, memory):
        count = max(0, min(len(memory), self.size - self.at))
        if count > 0:
            self.channel.send({"offset": self.at, "bytes": count})
            self.channel.receive_into(memoryview(memory)[:count])
        self.at += count
        return count


def plain(value):
    """What JSON has no form for."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise Refused(f"it holds a {type(value).__name__}, which JSON has no form for")


class Columns:
    """Arrays of pyarrow as runs of bytes: which values there are, where each begins, and what they are."""

    def __init__(self, wanted):
        import pyarrow
        import pyarrow.compute

        self.pa, self.types = pyarrow, pyarrow.types
        self.wanted = wanted

    def lay_out(self, name, array):
        """How a column is to be read, and its parts."""
        try:
            shape = self.shape_of(name, array.type)
            holds, dtype, parts = self.parts(name, self.stored(name, array))
        except (self.pa.ArrowException, LookupError, TypeError, ValueError, Refused) as error:
            raise Refused(f"column '{name}': {one_line(error)}") from error
        sizes = [len(part) for part in parts]
        return {"name": name, "holds": holds, "dtype": dtype, "shape": shape, "sizes": sizes}, parts

    def shape_of(self, name, kind):
        """Of a tensor; none of what is anything else."""
        if not isinstance(kind, self.pa.FixedShapeTensorType):
            return []
        if list(kind.permutation or []) != sorted(kind.permutation or []):
            raise Refused("it is a tensor whose axes are permuted, which no encoding holds")
        if self.wanted.get(name) == "json" or not self.is_array(kind.storage_type):
            raise Refused("it is a tensor of what is no array, or has nulls: its shape would be lost in JSON")
        return list(kind.shape)

    def stored(self, name, array):
        if isinstance(array, self.pa.ExtensionArray):
            array = array.storage
        if self.is_file(array.type) and self.wanted.get(name) != "json":
            array = self.pa.compute.struct_field(array, "bytes")
        return array.dictionary_decode() if self.types.is_dictionary(array.type) else array

    def parts(self, name, array):
        kind, types = array.type, self.types
        valid = self.bytes_of(array.is_valid().cast("uint8"), 1) if array.null_count else b""
        if self.is_text(kind) or types.is_null(kind):
            return "text", "", [valid, *self.varying(array.cast(self.pa.large_string()))]
        if self.is_binary(kind):
            return "bytes", "", [valid, *self.varying(array.cast(self.pa.large_binary()))]
        if types.is_boolean(kind):
            return "bool", "uint8", [valid, b"", self.numbers(array.cast("uint8"))]
        if self.is_number(kind):
            return "number", self.dtype_of(kind), [valid, b"", self.numbers(array)]
        if types.is_decimal(kind):
            return "decimal", "", [valid, *self.varying(array.cast("string").cast(self.pa.large_string()))]
        if not types.is_nested(kind):
            raise Refused(f"it is {kind}, which no encoding holds: cast it, or name the other columns with --columns")
        wanted = self.wanted.get(name, "")
        if self.is_array(kind) and wanted != "json":
            return "array", *self.array(array, valid, wanted)
        texts = [
            None if value is None else json.dumps(value, default=plain, allow_nan=False) for value in self.values(array)
        ]
        return "json", "", [valid, *self.varying(self.pa.array(texts, self.pa.large_string()))]

    def array(self, array, valid, dtype):
        lists = array.cast(self.pa.large_list(array.type.value_type))
        begin, end = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
        items = lists.values.slice(begin, end - begin)
        if items.null_count and lists.flatten().null_count:  # what a null row has for items is none of them
            raise Refused("it holds lists with nulls: take json for it, with --columns")
        if dtype:
            items = items.cast(dtype)
        return self.dtype_of(items.type), [valid, self.bytes_of(lists.offsets, 8), self.numbers(items)]

    def values(self, array):
        return array.to_pylist(maps_as_pydicts="strict")

    def varying(self, array):
        """Of large strings and binaries: where each begins, in all the bytes that they are of; and those."""
        _, offsets, data = array.buffers()
        offsets = offsets.slice(8 * array.offset, 8 * (len(array) + 1))
        (begin,), (end,) = struct.unpack_from("<q", offsets), struct.unpack_from("<q", offsets, 8 * len(array))
        return [offsets, data.slice(begin, end - begin) if data is not None else b""]

    def numbers(self, array):
        return self.bytes_of(array, array.type.bit_width // 8)

    def bytes_of(self, array, width):
        return array.buffers()[1].slice(width * array.offset, width * len(array)) if len(array) else b""

    def is_file(self, kind):
        """What the data sets of Hugging Face hold images and sounds in."""
        return self.types.is_struct(kind) and {field.name for field in kind} == {"bytes", "path"}

    def is_text(self, kind):
        return self.types.is_string(kind) or self.types.is_large_string(kind) or self.types.is_string_view(kind)

    def is_binary(self, kind):
        types = self.types
        is_varying = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
        return is_varying or types.is_fixed_size_binary(kind)

    def is_number(self, kind):
        return self.types.is_integer(kind) or self.types.is_floating(kind)

    def is_array(self, kind):
        types = self.types
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return is_list and self.is_number(kind.value_type)

    def dtype_of(self, kind):
        return DTYPES.get(str(kind), str(kind))


def one_line(error):
    text = error.args[0] if isinstance(error, KeyError) else error
    return " ".join(str(text).split())


def groups_from(metadata, row):
    """The row groups from the one that holds `row` on, and how many rows of that come before it."""
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if row < rows:
            return list(range(group, metadata.num_row_groups)), row
        row -= rows
    return [], 0


def batch_rows(metadata):
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    return max(1, min(BATCH_ROWS, BATCH_BYTES * metadata.num_rows // max(1, size)))


def send_rows(channel, given):
    import pyarrow.parquet

    wanted = dict(json.loads(given.columns))
    file = pyarrow.parquet.ParquetFile(RemoteFile(channel, given.size))
    names, metadata = file.schema_arrow.names, file.metadata
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Refused(f"it has two columns '{twice}'")
    taken = [name for name in names if not wanted or name in wanted]
    # A dot names a part of a column, there.
    chosen = None if any("." in name for name in names) else taken
    columns = Columns(wanted)
    groups, skipped = groups_from(metadata, given.row)
    batches = file.iter_batches(batch_rows(metadata), row_groups=groups, columns=chosen, use_threads=False)
    for batch in batches if groups else ():
        batch, skipped = batch.slice(skipped), max(0, skipped - len(batch))
        if len(batch) > 0:
            laid_out = [columns.lay_out(name, batch.column(name)) for name in taken]
            head = {"rows": len(batch), "names": names, "columns": [told for told, _ in laid_out]}
            head["source_bytes"] = given.size * len(batch) // metadata.num_rows
            channel.send(head, [part for _, parts in laid_out for part in parts])
    channel.send({"rows": 0})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, required=True, help="of the file, in bytes")
    parser.add_argument("--row", type=int, default=0, help="the first one to send")
    parser.add_argument("--columns", default="[]", help='[["ids", "int32"], ["more", "json"], ["text", ""]]; none: all')
    given = parser.parse_args()
    channel = Channel()
    try:
        send_rows(channel, given)
    except ImportError as error:
        channel.send({"lacks": one_line(error)})
    except Exception as error:
        channel.send({"error": one_line(error)})


if __name__ == "__main__":
    main()
