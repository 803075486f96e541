#include "shards/convert/parquet/parquet_stream.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/json.h"
#include "shards/dataset/place.h"

namespace assay::shards {
namespace {

using nlohmann::json;

constexpr int64_t kLongestHead = int64_t{64} << 20;
constexpr int64_t kAnsweredBytes = int64_t{8} << 20;  // fetched by one request

constexpr std::string_view kAdvice =
    "script/peers installs it in .venv, or name a Python that has pyarrow with ASSAY_PYTHON";

/// What each column is to be read as, where that is not said by its type.
std::string WantedOf(std::span<const Column> columns) {
  json wanted = json::array();
  for (const Column& column : columns) {
    const Encoding& encoding = column.encoding;
    const bool is_array = encoding.kind == EncodingKind::kNdarray && encoding.dtype;
    wanted.push_back({column.name, encoding.kind == EncodingKind::kJson ? "json"
                                   : is_array                           ? std::string(NameOf(*encoding.dtype))
                                                                        : ""});
  }
  return DumpJson(wanted);
}

int64_t BytesBehind(const json& head) {
  int64_t bytes = 0;
  for (const json& column : head.value("columns", json::array())) {
    std::vector<int64_t> sizes;
    if (ReadField(column, "sizes", sizes).ok()) {
      for (const int64_t size : sizes) {
        bytes += std::max<int64_t>(size, 0);
      }
    }
  }
  return bytes;
}

}  // namespace

Result<ParquetStream> ParquetStream::Open(const SourceFile& source, storage::Transfers& transfers, int64_t row,
                                          std::span<const Column> columns) {
  SubprocessOptions options;
  options.argv = {ShareDirectory() + "/parquet/read-rows",
                  "--size",
                  fmt::to_string(source.info.size),
                  "--row",
                  fmt::to_string(row),
                  "--columns",
                  WantedOf(columns)};
  options.channel = true;
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(std::move(options)));
  return ParquetStream(source, transfers, std::move(process));
}

Status ParquetStream::WhyItEnded() {
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process_.Wait());
  // Shells say so of a program that they cannot start.
  const bool is_missing = end.exited && (end.exit_code == 126 || end.exit_code == 127);
  return is_missing ? Status::FailedPrecondition(fmt::format("Parquet is read by pyarrow: {}", kAdvice))
                    : Status::Io(fmt::format("{}: the reader of Parquet ended: {}", source_->uri(), end.Describe()));
}

Status ParquetStream::ReadExactly(std::span<std::byte> memory) {
  while (!memory.empty()) {
    const ssize_t received =
        RetryOnSignal([&] { return ::read(process_.channel().get(), memory.data(), memory.size()); });
    if (received <= 0) {
      return WhyItEnded();
    }
    memory = memory.subspan(static_cast<size_t>(received));
  }
  return Status::Ok();
}

Status ParquetStream::Answer(int64_t offset, int64_t bytes) {
  if (offset < 0 || bytes < 0 || bytes > source_->info.size - offset) {
    return Status::Internal(fmt::format("{}: the reader of Parquet asked for {} bytes at {}, of {}", source_->uri(),
                                        bytes, offset, source_->info.size));
  }
  const NewBlob blob = NewBlob::Of(static_cast<size_t>(bytes));
  std::vector<std::shared_ptr<storage::Transfer>> reads;
  for (int64_t at = 0; at < bytes; at += kAnsweredBytes) {
    const auto memory =
        blob.memory.subspan(static_cast<size_t>(at), static_cast<size_t>(std::min(kAnsweredBytes, bytes - at)));
    storage::ReadOptions options{.if_match = source_->info.etag};
    reads.push_back(transfers_->Read(*source_->store, source_->info.key, {{.offset = offset + at, .memory = memory}},
                                     std::move(options)));
  }
  Status read;
  for (const auto& transfer : reads) {
    const Status ended = transfer->Wait().status();
    read = read.ok() ? ended : read;
  }
  ASSAY_RETURN_IF_ERROR(read);
  for (std::span<const std::byte> rest = blob.blob.bytes; !rest.empty();) {
    const ssize_t sent =
        RetryOnSignal([&] { return ::send(process_.channel().get(), rest.data(), rest.size(), MSG_NOSIGNAL); });
    if (sent < 0) {
      return WhyItEnded();
    }
    rest = rest.subspan(static_cast<size_t>(sent));
  }
  return Status::Ok();
}

Result<std::shared_ptr<const ColumnBatch>> ParquetStream::Next() {
  while (true) {
    int64_t head_bytes = 0;
    ASSAY_RETURN_IF_ERROR(ReadExactly(std::as_writable_bytes(std::span(&head_bytes, 1))));
    if (head_bytes < 0 || head_bytes > kLongestHead) {
      return Status::Internal(fmt::format("{}: the reader of Parquet sent what is no message", source_->uri()));
    }
    std::string text(static_cast<size_t>(head_bytes), '\0');
    ASSAY_RETURN_IF_ERROR(ReadExactly(std::as_writable_bytes(std::span(text))));
    ASSAY_ASSIGN_OR_RETURN(const json head, ParseJson(text, "the reader of Parquet"));
    if (head.contains("offset")) {
      ASSAY_RETURN_IF_ERROR(Answer(head.value("offset", int64_t{-1}), head.value("bytes", int64_t{-1})));
      continue;
    }
    if (head.contains("lacks")) {
      return Status::FailedPrecondition(
          fmt::format("Parquet is read by pyarrow: {} ({})", head.value("lacks", ""), kAdvice));
    }
    if (head.contains("error")) {
      return Status::InvalidArgument(fmt::format("{}: {}", source_->uri(), head.value("error", "")));
    }
    if (head.value("rows", int64_t{0}) == 0) {
      return std::shared_ptr<const ColumnBatch>();
    }
    std::string bytes(static_cast<size_t>(BytesBehind(head)), '\0');
    ASSAY_RETURN_IF_ERROR(ReadExactly(std::as_writable_bytes(std::span(bytes))));
    return ParseColumnBatch(head, std::move(bytes));
  }
}

}  // namespace assay::shards
