// The cache of huggingface_hub: where models that were fetched from a hub lie on this machine, for every program.
//
// Layout (huggingface_hub, "Understand caching"): CACHE/models--ORG--NAME/ holds refs/REVISION, a file with the commit
// that a branch or tag stood for, blobs/HASH, the files' contents, and snapshots/COMMIT/FILE, links to blobs.
#pragma once

#include <string>
#include <string_view>

namespace assay::job {

/// $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub.
std::string HubCacheDirectory();
/// $HF_HOME, else $XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface.
std::string HubHomeDirectory();

/// Whether `text` is an id that a hub gives: ORG/NAME or NAME, of letters, digits, '-', '_' and '.', without "--" and
/// "..", neither part beginning or ending in '-' or '.'.
bool IsHubRepository(std::string_view text);

/// CACHE/models--ORG--NAME
std::string HubRepositoryFolder(const std::string& cache, std::string_view repository);

/// The folder in `cache` of `repository` as `revision` (a branch, a tag or a commit) was when it was fetched; empty
/// where it was not.
std::string FindHubSnapshot(const std::string& cache, std::string_view repository,
                            const std::string& revision = "main");

}  // namespace assay::job
