// A file that remembers the finished parts of an upload, so that the next run of the program can go on with it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "storage/file/mapped_object.h"
#include "storage/object_store.h"

namespace assay::storage {

/// JSON lines: what the upload is of, then one line a finished part. Held by one process at a time (flock). A line that
/// was cut by a crash is left out. Belongs to one thread.
class PartJournal final : public UploadJournal {
 public:
  /// The journal of an upload of `source`, as it is now, to the object `target`: its name in `folder` is made from both
  /// URIs and the source's etag. Null where another process holds it.
  static Result<std::unique_ptr<PartJournal>> Open(const std::string& folder, const MappedObject& source,
                                                   const std::string& source_uri, const std::string& target);

  /// What an earlier run left; null: nothing.
  const ResumableUpload* earlier() const { return earlier_ ? &*earlier_ : nullptr; }
  /// Likewise, where this run has not come to it (OnBegin): as it was left, so it stands.
  const ResumableUpload* untouched() const { return begun_ || gone_ ? nullptr : earlier(); }
  /// Whether no upload stands of which it tells.
  bool empty() const { return gone_ || (!begun_ && !earlier_); }
  /// The bytes of its finished parts that the store still had.
  int64_t resumed_bytes() const { return resumed_bytes_; }

  void OnBegin(const ResumableUpload& upload) override;
  void OnPart(const UploadedPart& part) override;
  Status BeforePartEnds() override { return source_.CheckUnchanged(); }
  Status BeforePublish() override { return source_.CheckUnchanged(); }
  void OnGone() override { gone_ = true; }

  /// The upload is over: nothing is left to go on with.
  void Remove();

 private:
  PartJournal(std::string path, FileDescriptor file, const MappedObject& source)
      : path_(std::move(path)), file_(std::move(file)), source_(source) {}
  void ReadEarlier();
  void Append(const std::string& line);

  std::string path_;
  FileDescriptor file_;
  const MappedObject& source_;
  std::optional<ResumableUpload> earlier_;
  bool begun_ = false;
  bool gone_ = false;
  int64_t resumed_bytes_ = 0;
};

}  // namespace assay::storage
