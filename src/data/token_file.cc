#include "data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/cache_file.h"

namespace assay::data {
namespace {

constexpr CacheFileKind kKind = {.name = "token file", .magic = {'A', 'S', 'S', 'A', 'Y', 'T', 'O', 'K'}, .version = 1};

struct Header {
  FileMagic magic;
  uint32_t version;
  uint32_t zero;
};
static_assert(sizeof(Header) == 16);

struct Trailer {
  uint64_t rows;
  uint64_t tokens;
  int64_t vocab_size;
  FileMagic magic;
};
static_assert(sizeof(Trailer) == 32);

/// Checks the header and the trailer of a file of `bytes` against its size.
Status ReadFrame(const std::string& path, std::span<const std::byte> bytes, Trailer& trailer) {
  ASSAY_RETURN_IF_ERROR(kKind.CheckStart(path, bytes, sizeof(Header)));
  const size_t smallest = sizeof(Header) + sizeof(int64_t) + sizeof(Trailer);
  if (bytes.size() < smallest || bytes.size() % sizeof(int64_t) != 0) {
    return kKind.Truncated(path, bytes.size());
  }
  std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof(Trailer), sizeof(Trailer));
  // The counts are compared before they are multiplied: a damaged one must not overflow.
  const uint64_t words = (bytes.size() - smallest) / sizeof(int64_t);
  if (trailer.magic != kCacheFileEnd || trailer.rows > words || trailer.tokens > words ||
      trailer.tokens + 2 * trailer.rows != words) {
    return kKind.Truncated(path, bytes.size());
  }
  if (trailer.vocab_size <= 0 || trailer.vocab_size > INT32_MAX) {
    return kKind.Refuse(path, fmt::format("it states a vocabulary of {} tokens", trailer.vocab_size));
  }
  return Status::Ok();
}

}  // namespace

Result<TokenFileWriter> TokenFileWriter::Create(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  const Header header = {kKind.magic, kKind.version, 0};
  ASSAY_RETURN_IF_ERROR(file.Write(BytesOf(header)));
  return TokenFileWriter(std::move(file));
}

Status TokenFileWriter::Append(const TokenRow& row) {
  if (row.ids.empty() || row.ids.size() != row.labels.size()) {
    return Status::Internal(
        fmt::format("cannot write a token row of {} ids and {} labels", row.ids.size(), row.labels.size()));
  }
  ASSAY_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(row.ids))));
  ASSAY_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(row.labels))));
  offsets_.push_back(offsets_.back() + static_cast<int64_t>(row.ids.size()));
  lines_.push_back(row.line);
  return Status::Ok();
}

Status TokenFileWriter::Finish(int64_t vocab_size) {
  const Trailer trailer = {static_cast<uint64_t>(rows()), static_cast<uint64_t>(tokens()), vocab_size, kCacheFileEnd};
  ASSAY_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(offsets_))));
  ASSAY_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(lines_))));
  ASSAY_RETURN_IF_ERROR(file_.Write(BytesOf(trailer)));
  return file_.Commit();
}

Status WriteTokenFile(const std::string& path, std::span<const TokenRow> rows, int64_t vocab_size) {
  ASSAY_ASSIGN_OR_RETURN(TokenFileWriter writer, TokenFileWriter::Create(path));
  for (const TokenRow& row : rows) {
    ASSAY_RETURN_IF_ERROR(writer.Append(row));
  }
  return writer.Finish(vocab_size);
}

struct TokenFile::Mapping {
  std::shared_ptr<const MappedFile> file;
  Trailer trailer;
  const int32_t* row_data;  ///< ids and labels of row i start at 2 * offsets[i]
  std::span<const int64_t> offsets;
  std::span<const int64_t> lines;
};

Result<TokenFile> TokenFile::Open(const std::string& path) {
  auto mapping = std::make_shared<Mapping>();
  ASSAY_ASSIGN_OR_RETURN(mapping->file, MappedFile::Open(path));
  const std::span<const std::byte> bytes = mapping->file->bytes();
  ASSAY_RETURN_IF_ERROR(ReadFrame(path, bytes, mapping->trailer));

  const uint64_t rows = mapping->trailer.rows;
  const uint64_t tokens = mapping->trailer.tokens;
  const std::byte* row_data = bytes.data() + sizeof(Header);
  mapping->row_data = reinterpret_cast<const int32_t*>(row_data);
  const auto* index = reinterpret_cast<const int64_t*>(row_data + tokens * 2 * sizeof(int32_t));
  mapping->offsets = {index, rows + 1};
  mapping->lines = {index + rows + 1, rows};

  const auto& offsets = mapping->offsets;
  const bool strictly_rising = std::ranges::adjacent_find(offsets, std::greater_equal<>()) == offsets.end();
  if (offsets.front() != 0 || offsets.back() != static_cast<int64_t>(tokens) || !strictly_rising) {
    return kKind.Truncated(path, bytes.size());
  }
  return TokenFile(std::move(mapping));
}

int64_t TokenFile::rows() const {
  return static_cast<int64_t>(mapping_->trailer.rows);
}
int64_t TokenFile::tokens() const {
  return static_cast<int64_t>(mapping_->trailer.tokens);
}
int64_t TokenFile::vocab_size() const {
  return mapping_->trailer.vocab_size;
}

TokenRowView TokenFile::row(int64_t index, int64_t max_length) const {
  const int64_t begin = mapping_->offsets[index];
  const int64_t whole = mapping_->offsets[index + 1] - begin;
  const auto length = static_cast<size_t>(std::min(whole, max_length));
  const int32_t* ids = mapping_->row_data + 2 * begin;
  return {{ids, length}, {ids + whole, length}, mapping_->lines[index]};
}

Status TokenFile::CheckIds() const {
  const auto vocab_size = static_cast<int32_t>(this->vocab_size());
  for (int64_t i = 0; i < rows(); ++i) {
    const TokenRowView row = this->row(i, INT64_MAX);
    const auto outside = [vocab_size](int32_t id) { return id < 0 || id >= vocab_size; };
    const auto wrong_label = [&](int32_t label) { return label != kMaskedLabel && outside(label); };
    if (std::ranges::any_of(row.ids, outside) || std::ranges::any_of(row.labels, wrong_label)) {
      return Status::InvalidArgument(
          fmt::format("row {} of the token file has an id outside its vocabulary of {}", i, vocab_size));
    }
  }
  return Status::Ok();
}

namespace {

/// Position of the first label that bears loss, or -1. The token at position 0 has nothing to be predicted from.
int64_t FirstSupervised(std::span<const int32_t> labels) {
  for (size_t i = 1; i < labels.size(); ++i) {
    if (labels[i] != kMaskedLabel) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

}  // namespace

Result<int64_t> CountUnsupervisedRows(const TokenFile& file, int64_t max_length, std::string_view source) {
  int64_t unsupervised = 0;
  int64_t nearest = INT64_MAX;
  size_t longest = 0;
  for (int64_t i = 0; i < file.rows(); ++i) {
    const std::span<const int32_t> labels = file.row(i, INT64_MAX).labels;
    longest = std::max(longest, labels.size());
    const int64_t first = FirstSupervised(labels);
    unsupervised += first < 0 || first >= max_length ? 1 : 0;
    nearest = first < 0 ? nearest : std::min(nearest, first);
  }
  if (unsupervised < file.rows()) {
    return unsupervised;
  }
  if (nearest == INT64_MAX) {
    return Status::FailedPrecondition(fmt::format(
        "{}: none of the first {} tokens of its {} rows is supervised, so there is nothing to learn from; check the "
        "labels and the response template, or raise the maximum length if the responses come later",
        source, longest, file.rows()));
  }
  return Status::FailedPrecondition(
      fmt::format("{}: the responses of all its {} rows are gone after truncation to {} tokens (the first that is "
                  "supervised is number {}); raise the maximum length or shorten the prompts",
                  source, file.rows(), max_length, nearest + 1));
}

}  // namespace assay::data
