#include "shards/format/compression.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <bzlib.h>
#include <fmt/format.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>

#include "base/text.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

const char* Chars(Bytes bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}
const uint8_t* Octets(Bytes bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

Status CannotCompress(std::string_view why) {
  return Status::Internal(fmt::format("the shard cannot be compressed: {}", why));
}

/// What every algorithm says of a file that is not what the index says.
Status NotTheSize() {
  return Status::InvalidArgument("it does not decompress to the size that the index tells");
}

Result<std::string> ZstdCompress(int level, Bytes raw) {
  const size_t most = ZSTD_compressBound(raw.size());
  // Nothing is written into what the shard does not need of it.
  const auto out = std::make_unique_for_overwrite<char[]>(most);
  const size_t size = ZSTD_compress(out.get(), most, raw.data(), raw.size(), level);
  return ZSTD_isError(size) != 0 ? CannotCompress(ZSTD_getErrorName(size)) : Result(std::string(out.get(), size));
}

Status ZstdDecompress(Bytes packed, MutableBytes raw) {
  const size_t size = ZSTD_decompress(raw.data(), raw.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0) {
    return Status::InvalidArgument(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  }
  return size == raw.size() ? Status::Ok() : NotTheSize();
}

constexpr int kGzipWindow = 15 + 16;

Result<std::string> GzipCompress(int level, Bytes raw) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return CannotCompress("zlib does not begin");
  }
  gz_header header{};
  header.os = 255;  // as Python writes it: unknown
  deflateSetHeader(&stream, &header);
  std::string out(deflateBound(&stream, raw.size()), '\0');
  stream.next_in = const_cast<Bytef*>(Octets(raw));
  stream.avail_in = static_cast<uInt>(raw.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return ended == Z_STREAM_END ? Result<std::string>(std::move(out)) : CannotCompress("zlib does not end");
}

Status GzipDecompress(Bytes packed, MutableBytes raw) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return Status::Internal("zlib does not begin");
  }
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ends(&stream, &inflateEnd);
  stream.next_in = const_cast<Bytef*>(Octets(packed));
  stream.avail_in = static_cast<uInt>(packed.size());
  Bytef spare = 0;  // zlib wants a place even where none is left
  stream.next_out = raw.empty() ? &spare : reinterpret_cast<Bytef*>(raw.data());
  stream.avail_out = static_cast<uInt>(raw.size());
  const int ended = inflate(&stream, Z_FINISH);
  if (ended == Z_DATA_ERROR) {
    return Status::InvalidArgument(fmt::format("gzip: {}", stream.msg == nullptr ? "damaged" : stream.msg));
  }
  return ended == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0 ? Status::Ok() : NotTheSize();
}

Result<std::string> Bzip2Compress(int level, Bytes raw) {
  std::string out(raw.size() + raw.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned>(out.size());
  if (BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(Chars(raw)), static_cast<unsigned>(raw.size()),
                               level, 0, 0) != BZ_OK) {
    return CannotCompress("bzip2 does not end");
  }
  out.resize(size);
  return out;
}

Status Bzip2Decompress(Bytes packed, MutableBytes raw) {
  auto size = static_cast<unsigned>(raw.size());
  char spare = 0;
  const int ended =
      BZ2_bzBuffToBuffDecompress(raw.empty() ? &spare : reinterpret_cast<char*>(raw.data()), &size,
                                 const_cast<char*>(Chars(packed)), static_cast<unsigned>(packed.size()), 0, 0);
  if (ended == BZ_OK && size == raw.size()) {
    return Status::Ok();
  }
  return ended == BZ_OK || ended == BZ_OUTBUFF_FULL ? NotTheSize() : Status::InvalidArgument("bzip2: damaged");
}

Result<std::string> BrotliCompress(int level, Bytes raw) {
  size_t size = std::max<size_t>(BrotliEncoderMaxCompressedSize(raw.size()), 16);
  std::string out(size, '\0');
  if (BrotliEncoderCompress(level, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, raw.size(), Octets(raw), &size,
                            reinterpret_cast<uint8_t*>(out.data())) == BROTLI_FALSE) {
    return CannotCompress("brotli does not end");
  }
  out.resize(size);
  return out;
}

Status BrotliDecompress(Bytes packed, MutableBytes raw) {
  size_t size = raw.size();
  const BrotliDecoderResult ended =
      BrotliDecoderDecompress(packed.size(), Octets(packed), &size, reinterpret_cast<uint8_t*>(raw.data()));
  return ended == BROTLI_DECODER_RESULT_SUCCESS && size == raw.size()
             ? Status::Ok()
             : Status::InvalidArgument("brotli: damaged, or not of the size that the index tells");
}

Result<std::string> SnappyCompress(int level, Bytes raw) {
  std::string out;
  snappy::Compress(Chars(raw), raw.size(), &out);
  return out;
}

Status SnappyDecompress(Bytes packed, MutableBytes raw) {
  size_t size = 0;
  if (!snappy::GetUncompressedLength(Chars(packed), packed.size(), &size)) {
    return Status::InvalidArgument("snappy: damaged");
  }
  if (size != raw.size()) {
    return NotTheSize();
  }
  return snappy::RawUncompress(Chars(packed), packed.size(), reinterpret_cast<char*>(raw.data()))
             ? Status::Ok()
             : Status::InvalidArgument("snappy: damaged");
}

struct CompressionRow {
  std::string_view name;
  int least_level;  // above most_level: it has no levels
  int most_level;
  int level;  // where none is named
  Result<std::string> (*compress)(int level, Bytes raw);
  Status (*decompress)(Bytes packed, MutableBytes raw);
};

constexpr CompressionRow kCompressions[] = {
    {"br", 0, 11, 11, &BrotliCompress, &BrotliDecompress}, {"bz2", 1, 9, 9, &Bzip2Compress, &Bzip2Decompress},
    {"gz", 0, 9, 9, &GzipCompress, &GzipDecompress},       {"snappy", 1, 0, 0, &SnappyCompress, &SnappyDecompress},
    {"zstd", 1, 22, 3, &ZstdCompress, &ZstdDecompress},
};

const CompressionRow* FindRow(std::string_view name) {
  const auto row = std::ranges::find(kCompressions, name, &CompressionRow::name);
  return row == std::end(kCompressions) ? nullptr : row;
}

/// zlib and bzip2 count in 32 bits, and so do the offsets of shards.
constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max();

}  // namespace

Result<Compression> Compression::Parse(std::string_view name) {
  if (name.empty()) {
    return Compression{};
  }
  const size_t colon = std::min(name.find(':'), name.size());
  const CompressionRow* row = FindRow(name.substr(0, colon));
  if (row == nullptr) {
    return Status::InvalidArgument(
        fmt::format("there is no compression '{}' (there are {})", name, Join(CompressionNames(), ", ")));
  }
  Compression compression{std::string(name), std::string(row->name), row->level};
  if (colon < name.size()) {
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, compression.level);
    if (error != std::errc() || stop != end || compression.level < row->least_level ||
        compression.level > row->most_level) {
      return Status::InvalidArgument(
          row->most_level < row->least_level
              ? fmt::format("'{}': {} has no levels", name, row->name)
              : fmt::format("'{}': levels of {} are {} to {}", name, row->name, row->least_level, row->most_level));
    }
  }
  return compression;
}

std::vector<std::string> CompressionNames() {
  std::vector<std::string> names;
  for (const CompressionRow& row : kCompressions) {
    names.emplace_back(row.name);
  }
  return names;
}

Result<std::string> Compress(const Compression& compression, Bytes raw) {
  const CompressionRow* row = FindRow(compression.extension);
  if (raw.size() >= kMostBytes) {
    return CannotCompress("it has 4 GiB and more");
  }
  return row == nullptr ? std::string(Chars(raw), raw.size()) : row->compress(compression.level, raw);
}

Status Decompress(const Compression& compression, Bytes packed, MutableBytes raw) {
  const CompressionRow* row = FindRow(compression.extension);
  if (row == nullptr) {
    return Status::Internal("nothing to decompress with");
  }
  if (packed.size() >= kMostBytes || raw.size() >= kMostBytes) {
    return Status::InvalidArgument("it has 4 GiB and more");
  }
  return row->decompress(packed, raw);
}

}  // namespace assay::shards
