// Brings a model from a hub into the cache that it shares with huggingface_hub and transformers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "hub/hub_client.h"

namespace assay::hub {

struct PullOptions {
  std::string repository;             ///< "ORG/NAME"
  std::string revision = "main";      ///< a branch, a tag or a commit
  std::string cache;                  ///< job::HubCacheDirectory()
  std::vector<std::string> patterns;  ///< ChooseFiles()
  int files_at_once = 4;
};

/// Called from several threads.
struct PullObserver {
  std::function<void(int64_t bytes, int64_t files)> on_total = [](int64_t, int64_t) {};  ///< what is missing
  /// That came; less than 0: so much is fetched again.
  std::function<void(int64_t bytes)> on_bytes = [](int64_t) {};
  std::function<void()> on_file = [] {};
  std::function<void(const std::string& line)> on_note = [](const std::string&) {};
};

struct PullResult {
  std::string folder;  ///< the snapshot: a model folder
  std::string commit;
  std::vector<HubFile> files;
  int64_t bytes = 0;           ///< of all of them
  int64_t received_bytes = 0;  ///< by this call
};

/// Files are checked by the hub's own hashes, and appear in the snapshot when all are there; the reference to it comes
/// last. Called again it goes on where it broke off. Errors are one line: kNotFound, kPermissionDenied,
/// kInvalidArgument, kIo (no room on the disk is said before anything is fetched).
Result<PullResult> Pull(HubClient& client, const PullOptions& options, const PullObserver& observer);

}  // namespace assay::hub
