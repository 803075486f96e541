#include "engine/checkpoint/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "engine/comm/gather_text.h"
#include "engine/model/status_error.h"
#include "storage/file/file_kind.h"
#include "storage/open.h"
#include "storage/read_options.h"

namespace assay::engine {
namespace {

std::string as_folder(const std::string& uri) {
  return uri.ends_with('/') ? uri : uri + "/";
}

void tell(const std::string& what, const Status& status) {
  if (!status.ok()) {
    fmt::print(stderr, "assay-worker: {} stay: {}\n", what, status.message());
  }
}

/// Fails where it is not known which; what could not be removed is told.
Status remove_but(const checkpoint::Listing& listing, const checkpoint::RetentionOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<checkpoint::ListedCheckpoint> old, checkpoint::ToRemove(listing, options));
  const std::vector<Status> ends = checkpoint::RemoveCheckpoints(old);
  for (size_t i = 0; i < ends.size(); ++i) {
    tell("files of " + old[i].uri, ends[i]);
  }
  return Status::Ok();
}

/// Below step-N of the folder itself: other runs may have folders within it.
bool is_in_step(const checkpoint::Place& root, std::string_view key) {
  constexpr std::string_view kStep = "step-";
  const std::string_view name = key.substr(root.key.size());
  const std::string_view folder = name.substr(0, name.find('/'));
  return folder.size() < name.size() && folder.size() > kStep.size() && folder.starts_with(kStep) &&
         std::ranges::all_of(folder.substr(kStep.size()), [](char c) { return c >= '0' && c <= '9'; });
}

Status remove_leftovers(const checkpoint::Place& root, const checkpoint::Listing& looked, double older_than_seconds) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<checkpoint::Leftover> left,
                         checkpoint::FindLeftovers(root, looked, older_than_seconds));
  std::erase_if(left, [&](const checkpoint::Leftover& leftover) { return !is_in_step(root, leftover.key); });
  return checkpoint::RemoveLeftovers(root, left);
}

}  // namespace

MostWork most_work_of(std::vector<int64_t> bytes_of_ranks) {
  constexpr int64_t kTellingBytes = 1 << 20;
  if (bytes_of_ranks.empty()) {
    return 1;
  }
  std::ranges::sort(bytes_of_ranks);
  const int64_t most = bytes_of_ranks.back();
  const int64_t of_half = bytes_of_ranks[(bytes_of_ranks.size() + 1) / 2 - 1];
  if (most <= kTellingBytes) {
    return 1;
  }
  return of_half < kTellingBytes ? 0 : static_cast<double>(most) / static_cast<double>(of_half);
}

void CheckpointRanks::together(std::string what, std::function<void()> work) const {
  constexpr std::chrono::milliseconds kPause(20);
  const std::unique_ptr<WorkTogether> own = start(std::move(what), /*most=*/0, /*is_beside=*/false, std::move(work));
  while (!own->meet(kPause)) {
  }
}

std::vector<std::string> CheckpointRanks::tell(const std::string& own, std::string_view label) const {
  return world == nullptr || world->size() == 1 ? std::vector<std::string>{own} : gather_text(*world, own, label);
}

checkpoint::Place open_folder(const std::string& uri, const FolderOptions& options) {
  const std::string folder = as_folder(uri);
  const storage::StoreUri parsed = value_or_throw(storage::ParseStoreUri(folder));
  storage::StoreOptions store = value_or_throw(storage::LoadStoreOptions(parsed.scheme, ""));
  store.observer = options.observer;
  if (options.sync_files) {
    storage::SetFileSync(*options.sync_files, store);
  }
  if (options.connections > 0) {
    store.connections = options.connections;
  }
  storage::StoreAndKey opened = value_or_throw(storage::OpenStore(folder, store));
  return {.store = std::move(opened.store), .key = std::move(opened.key), .is_folder = true, .cancel = options.cancel};
}

RunFolder::RunFolder(const std::string& uri, const FolderOptions& options)
    : root_(open_folder(uri, options)),
      is_local_(value_or_throw(storage::ParseStoreUri(as_folder(uri))).scheme == "file") {}

checkpoint::Place RunFolder::place_of(int64_t step) const {
  return {.store = root_.store,
          .key = fmt::format("{}step-{}/", root_.key, step),
          .is_folder = true,
          .cancel = root_.cancel};
}

bool RunFolder::is_of_run(const checkpoint::ListedCheckpoint& listed) const {
  return listed.is_ours() && listed.found.format == checkpoint::Format::kDcp && listed.step &&
         listed.found.place.key == place_of(*listed.step).key;
}

std::optional<int64_t> RunFolder::step_at(const std::string& uri) const {
  const std::string before = root_.uri() + "step-";
  int64_t step = 0;
  if (uri.starts_with(before)) {
    std::from_chars(uri.data() + before.size(), uri.data() + uri.size(), step);
  }
  return place_of(step).uri() == uri ? std::optional(step) : std::nullopt;
}

void RunFolder::keep(const checkpoint::RetentionOptions& options, const std::set<int64_t>& damaged_steps) const {
  if (options.keep_last <= 0 && options.keep_best <= 0) {
    return;
  }
  Result<checkpoint::Listing> listing = checkpoint::ListCheckpoints(root_);
  if (listing.ok()) {
    std::erase_if(listing->checkpoints, [&](const checkpoint::ListedCheckpoint& listed) {
      return !is_of_run(listed) || damaged_steps.contains(*listed.step);
    });
  }
  tell("old checkpoints in " + uri(), listing.ok() ? remove_but(*listing, options) : listing.status());
}

void RunFolder::sweep(const Standing& looked, double older_than_seconds) const {
  tell("leftovers in " + uri(), remove_leftovers(root_, looked.listing, older_than_seconds));
}

RunFolder::Standing RunFolder::look() const {
  Standing standing;
  standing.listing = value_or_throw(checkpoint::ListCheckpoints(root_));
  for (const checkpoint::ListedCheckpoint& listed : standing.listing.checkpoints) {
    if (is_of_run(listed)) {
      standing.steps.insert(*listed.step);
    }
  }
  for (const checkpoint::NotOffered& other : standing.listing.others) {
    if (const std::optional<int64_t> step = step_at(other.uri)) {
      throw_if_error(other.is_unknown() ? other.why : Status::Ok());
      standing.damaged_steps.emplace(*step, other.why);
    }
  }
  return standing;
}

}  // namespace assay::engine
