#include "checkpoint/file/write_file.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;
using storage::MutableBytes;
using storage::ReadPiece;

Result<bool> CanBeViewed(const FileLayout& layout) {
  for (const Segment& segment : layout.segments()) {
    if (!segment.is_text()) {
      ASSAY_ASSIGN_OR_RETURN(const auto view, segment.source->View(segment.offset, 0));
      if (!view) {
        return false;
      }
    }
  }
  return true;
}

Status CheckSources(const FileLayout& layout) {
  std::set<const DataSource*> checked;
  for (const Segment& segment : layout.segments()) {
    if (!segment.is_text() && checked.insert(segment.source.get()).second) {
      ASSAY_RETURN_IF_ERROR(segment.source->CheckUnchanged());
    }
  }
  return Status::Ok();
}

/// Asks the sources once more before the object is published.
class SourceGuard final : public storage::UploadJournal {
 public:
  explicit SourceGuard(const FileLayout& layout) : layout_(layout) {}
  void OnBegin(const storage::ResumableUpload& upload) override {}
  void OnPart(const storage::UploadedPart& part) override {}
  Status BeforePublish() override { return CheckSources(layout_); }
  bool remembers() const override { return false; }

 private:
  const FileLayout& layout_;
};

Result<WrittenFile> WriteInPlace(storage::ObjectStore& store, const std::string& key, FileLayout& layout,
                                 const WriteFileOptions& options) {
  WrittenFile written;
  std::vector<Bytes> buffers;
  ASSAY_ASSIGN_OR_RETURN(written.digest, DigestInPlace(layout, buffers));
  if (options.before_publish != nullptr) {
    ASSAY_RETURN_IF_ERROR(options.before_publish(written.digest));
  }
  SourceGuard guard(layout);
  storage::WriteOptions write = options.write;
  write.expected = storage::MakeCrc32c(written.digest.crc32c);
  write.journal = &guard;
  ASSAY_ASSIGN_OR_RETURN(written.info, store.Write(key, buffers, write));
  return written;
}

/// More than there are processors, since they wait for the network.
constexpr int kSourcesAtATime = 8;

/// Pieces of the file that are fetched together, and their bytes.
struct Window {
  std::span<DigestPlan::Piece> pieces{};
  std::vector<std::byte> memory{};  ///< of the pieces that are no text, one behind the other
};

/// Fetches windows, one ahead of the one that is written.
class WindowFetcher {
 public:
  WindowFetcher(const FileLayout& layout, std::span<DigestPlan::Piece> pieces, int64_t window_bytes)
      : layout_(layout), rest_(pieces), window_bytes_(window_bytes) {
    Start();
  }

  /// Null after the last one.
  Result<std::unique_ptr<Window>> Next() {
    if (!next_.valid()) {
      return std::unique_ptr<Window>();
    }
    Result<std::unique_ptr<Window>> window = next_.get();
    if (window.ok()) {
      Start();
    }
    return window;
  }

 private:
  void Start() {
    if (rest_.empty()) {
      return;
    }
    auto window = std::make_unique<Window>();
    int64_t bytes = 0;
    size_t count = 0;
    while (count < rest_.size() && (count == 0 || bytes + rest_[count].bytes <= window_bytes_)) {
      bytes += rest_[count++].bytes;
    }
    window->pieces = rest_.first(count);
    rest_ = rest_.subspan(count);
    next_ =
        std::async(std::launch::async, [this, window = std::move(window)]() mutable { return Fetch(*window, window); });
  }

  /// What lies in one source is read together, near ranges in one request; several sources at a time.
  Result<std::unique_ptr<Window>> Fetch(Window& window, std::unique_ptr<Window>& owner) const {
    int64_t bytes = 0;
    for (const DigestPlan::Piece& piece : window.pieces) {
      bytes += layout_.segments()[piece.segment].is_text() ? 0 : piece.bytes;
    }
    window.memory.resize(static_cast<size_t>(bytes));
    const auto reads = ReadsOf(window);
    ASSAY_RETURN_IF_ERROR(ParallelUntilFailure(std::ssize(reads), kSourcesAtATime, [&](int64_t i) {
      const auto& [source, pieces] = reads[static_cast<size_t>(i)];
      return source->Read(pieces);
    }));
    return std::move(owner);
  }

  using Reads = std::vector<std::pair<const DataSource*, std::vector<ReadPiece>>>;

  /// Pieces of one segment lie one behind the other in its source too, and are one.
  Reads ReadsOf(Window& window) const {
    Reads reads;
    std::map<const DataSource*, size_t> by_source;
    size_t at = 0;
    for (size_t i = 0; i < window.pieces.size();) {
      const size_t of_segment = window.pieces[i].segment;
      const Segment& segment = layout_.segments()[of_segment];
      const int64_t offset = segment.offset + window.pieces[i].offset;
      int64_t together = 0;
      for (; i < window.pieces.size() && window.pieces[i].segment == of_segment; ++i) {
        together += window.pieces[i].bytes;
      }
      if (!segment.is_text()) {
        const auto [known, is_new] = by_source.try_emplace(segment.source.get(), reads.size());
        if (is_new) {
          reads.emplace_back(segment.source.get(), std::vector<ReadPiece>());
        }
        const auto memory = MutableBytes(window.memory).subspan(at, static_cast<size_t>(together));
        reads[known->second].second.push_back({offset, memory});
        at += static_cast<size_t>(together);
      }
    }
    return reads;
  }

  const FileLayout& layout_;
  std::span<DigestPlan::Piece> rest_;
  const int64_t window_bytes_;
  std::future<Result<std::unique_ptr<Window>>> next_;
};

Bytes TextOf(const Segment& segment, const DigestPlan::Piece& piece) {
  return std::as_bytes(std::span(segment.text))
      .subspan(static_cast<size_t>(piece.offset), static_cast<size_t>(piece.bytes));
}

/// Sums and writes a window; what was fetched is written in stretches as long as they are.
Status WriteWindow(const FileLayout& layout, DigestPlan& plan, Window& window, storage::ObjectWriter& writer) {
  const Bytes memory = window.memory;
  size_t written = 0;
  size_t at = 0;
  for (DigestPlan::Piece& piece : window.pieces) {
    const Segment& segment = layout.segments()[piece.segment];
    if (!segment.is_text()) {
      plan.Sum(piece, memory.subspan(at, static_cast<size_t>(piece.bytes)));
      at += static_cast<size_t>(piece.bytes);
      continue;
    }
    ASSAY_RETURN_IF_ERROR(writer.Write(memory.subspan(written, at - written)));
    written = at;
    plan.FillPlaces(piece.segment);
    const Bytes text = TextOf(segment, piece);
    plan.Sum(piece, text);
    ASSAY_RETURN_IF_ERROR(writer.Write(text));
  }
  return writer.Write(memory.subspan(written, at - written));
}

Result<WrittenFile> WriteThroughWindows(storage::ObjectStore& store, const std::string& key, FileLayout& layout,
                                        const WriteFileOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer, store.OpenWriter(key, options.write));
  DigestPlan plan(layout);
  WindowFetcher fetcher(layout, plan.pieces(), options.buffer_bytes / 2);
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<Window> window, fetcher.Next());
    if (window == nullptr) {
      break;
    }
    ASSAY_RETURN_IF_ERROR(WriteWindow(layout, plan, *window, *writer));
  }
  ASSAY_RETURN_IF_ERROR(CheckSources(layout));
  WrittenFile written;
  written.digest = plan.Finish();
  if (options.before_publish != nullptr) {
    ASSAY_RETURN_IF_ERROR(options.before_publish(written.digest));
  }
  ASSAY_ASSIGN_OR_RETURN(written.info, writer->Commit());
  return written;
}

}  // namespace

Result<WrittenFile> WriteFile(storage::ObjectStore& store, const std::string& key, FileLayout& layout,
                              const WriteFileOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const bool in_place, CanBeViewed(layout));
  return in_place ? WriteInPlace(store, key, layout, options) : WriteThroughWindows(store, key, layout, options);
}

}  // namespace assay::checkpoint
