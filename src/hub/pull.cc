#include "hub/pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "hub/blob_file.h"
#include "job/hub_cache.h"

namespace assay::hub {
namespace {

namespace fs = std::filesystem;

/// As huggingface_hub does: a blob of the right size is whole, for its name is its hash and it was checked as it came.
bool IsThere(const std::string& folder, const HubFile& file) {
  std::error_code ignored;
  const auto bytes = fs::file_size(fmt::format("{}/blobs/{}", folder, file.blob), ignored);
  return !ignored && static_cast<int64_t>(bytes) == file.bytes;
}

int64_t IncompleteBytes(const std::string& folder, const HubFile& file) {
  std::error_code ignored;
  const auto bytes = fs::file_size(fmt::format("{}/blobs/{}.incomplete", folder, file.blob), ignored);
  return ignored ? 0 : std::min(static_cast<int64_t>(bytes), file.bytes);
}

/// Those that are not in the cache, each content once.
std::vector<HubFile> Missing(const std::string& folder, const std::vector<HubFile>& files) {
  std::vector<HubFile> missing;
  std::set<std::string> blobs;
  for (const HubFile& file : files) {
    if (!IsThere(folder, file) && blobs.insert(file.blob).second) {
      missing.push_back(file);
    }
  }
  return missing;
}

Status CheckRoom(const std::string& folder, int64_t bytes) {
  std::error_code error;
  const fs::space_info room = fs::space(folder, error);
  if (!error && static_cast<int64_t>(room.available) < bytes) {
    return Status::Io(fmt::format("{} more are needed in {}, where {} are free (free some space, or set HF_HOME)",
                                  FormatBytes(static_cast<double>(bytes)), folder,
                                  FormatBytes(static_cast<double>(room.available))));
  }
  return Status::Ok();
}

Status ReceiveAll(HubClient& client, const PullOptions& options, const HubListing& listing,
                  const std::vector<HubFile>& missing, const PullObserver& observer) {
  return ParallelUntilFailure(
      static_cast<int64_t>(missing.size()), options.files_at_once, [&](int64_t index) -> Status {
        const HubFile& file = missing[static_cast<size_t>(index)];
        ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<BlobFile> blob,
                               BlobFile::Open(options.cache, options.repository, file, [&] {
                                 observer.on_note(fmt::format("{}: another program is fetching it", file.path));
                               }));
        if (!blob->is_there()) {
          blob->set_on_bytes(observer.on_bytes);
          ASSAY_RETURN_IF_ERROR(client.Receive(options.repository, listing.commit, file, *blob));
          ASSAY_RETURN_IF_ERROR(blob->Publish());
        }
        observer.on_file();
        return Status::Ok();
      });
}

/// snapshots/COMMIT/PATH -> ../../blobs/HASH, as huggingface_hub links them.
Status LinkFile(const std::string& snapshot, const HubFile& file) {
  const fs::path link = fs::path(snapshot) / file.path;
  ASSAY_RETURN_IF_ERROR(MakeDirectories(link.parent_path().string()));
  fs::path target = fs::path("../..") / "blobs" / file.blob;
  for (auto depth = std::ranges::count(file.path, '/'); depth > 0; --depth) {
    target = ".." / target;
  }
  std::error_code error;
  if (fs::read_symlink(link, error) == target && !error) {
    return Status::Ok();
  }
  // By a name of its own first: another pull may be linking the same.
  const fs::path beside = fmt::format("{}.{}", link.string(), RandomUid());
  fs::create_symlink(target, beside, error);
  if (!error) {
    fs::rename(beside, link, error);
  }
  return error ? Status::Io(fmt::format("cannot link {}: {}", link.string(), error.message())) : Status::Ok();
}

}  // namespace

Result<PullResult> Pull(HubClient& client, const PullOptions& options, const PullObserver& observer) {
  if (!job::IsHubRepository(options.repository)) {
    return Status::InvalidArgument(
        fmt::format("'{}' is no name of a model on a hub; expected ORG/NAME", options.repository));
  }
  if (options.revision.empty() || options.revision.front() == '/' || options.revision.find("..") != std::string::npos) {
    return Status::InvalidArgument(
        fmt::format("'{}' is no revision; expected a branch, a tag or a commit", options.revision));
  }
  ASSAY_ASSIGN_OR_RETURN(const HubListing listing, client.List(options.repository, options.revision));
  PullResult result{.commit = listing.commit, .files = ChooseFiles(listing, options.patterns)};
  if (result.files.empty()) {
    return Status::NotFound(fmt::format("{} ({}) holds {} files, none of which {}", options.repository,
                                        options.revision, listing.files.size(),
                                        options.patterns.empty() ? "is a model's" : "matches"));
  }
  const std::string folder = job::HubRepositoryFolder(options.cache, options.repository);
  ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
  const std::vector<HubFile> missing = Missing(folder, result.files);
  for (const HubFile& file : missing) {
    result.received_bytes += file.bytes - IncompleteBytes(folder, file);
  }
  ASSAY_RETURN_IF_ERROR(CheckRoom(folder, result.received_bytes));
  observer.on_total(result.received_bytes, static_cast<int64_t>(missing.size()));
  ASSAY_RETURN_IF_ERROR(ReceiveAll(client, options, listing, missing, observer));
  result.folder = fmt::format("{}/snapshots/{}", folder, listing.commit);
  for (const HubFile& file : result.files) {
    ASSAY_RETURN_IF_ERROR(LinkFile(result.folder, file));
    result.bytes += file.bytes;
  }
  if (options.revision != listing.commit) {
    const std::string reference = fmt::format("{}/refs/{}", folder, options.revision);
    ASSAY_RETURN_IF_ERROR(MakeDirectories(fs::path(reference).parent_path().string()));
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(reference, listing.commit));
  }
  return result;
}

}  // namespace assay::hub
