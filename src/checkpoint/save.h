// A save, from its first file to the commit: at every moment the place holds the old checkpoint or the new one.
//
// Files of data are written first, under names that nothing has; then the manifest; last the one file that makes the
// checkpoint valid for everybody (.metadata, an index, or the file itself), under the condition that what stood there
// when the save began still does. That file names the save, and so its manifest. What was replaced is removed
// afterwards. A save that ends in between leaves files that no checkpoint names, which Sweep() of manage.h finds.
//
// Over ranks: rank 0 begins and commits, each rank writes its files in between (WriteSaved()) and tells rank 0 what
// they are. Bytes leave from where they lie; what is written at a time is bounded by the stores' budgets.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/file/file_layout.h"
#include "checkpoint/find.h"
#include "checkpoint/manifest/manifest.h"
#include "checkpoint/place.h"

namespace assay::checkpoint {

struct SaveOptions {
  bool overwrite = false;  ///< a checkpoint that stands there is replaced
  bool is_spread = false;  ///< files of data lie in folders below the place (dcp/prefix.h)
  std::optional<int64_t> step{};
  std::map<std::string, double> metrics{};  ///< finite
  storage::ProgressCallback progress{};
};

/// A save that has begun.
struct Save {
  Place place{};
  Format format = Format::kDcp;
  std::string id{};
  std::string pointer{};                      ///< the file that will make it valid
  std::string folder{};                       ///< to be put before the names of other files: "" or "save-ID/"
  std::string replaced_etag{};                ///< of what stands in the pointer's place; empty: nothing
  std::vector<std::string> replaced_files{};  ///< that belong to it
  SaveOptions options{};
};

/// The folder for names that no other save gives.
std::string OwnFolder(const Save& save);

/// Looks at what stands at the place. FailedPrecondition where a checkpoint does and may not be replaced, or one of
/// another form that this save could not replace in one step, or one that names what need not be its own (removable.h).
/// Nothing is written.
Result<Save> BeginSave(const Place& place, Format format, std::string pointer, SaveOptions options);

/// A file of data that is laid out when its turn comes: a save of many ranks has millions of items.
struct FileToSave {
  std::string name{};
  std::function<Result<FileLayout>()> lay_out{};
};

/// What a rank wrote.
struct SavedFile {
  ManifestFile file{};
  std::string etag{};
};

/// Writes a file of data. FailedPrecondition where something has its name: another save came to the same place at the
/// same time. Whoever began this one then may lay its files out once more, in OwnFolder(): which of the two counts is
/// decided by the commit.
Result<SavedFile> WriteSaved(const Save& save, const FileToSave& file);
/// Several, some at a time. After an error none of them is left.
Result<std::vector<SavedFile>> WriteAllSaved(const Save& save, const std::vector<FileToSave>& files);

/// Removes files of a save that will not be committed.
void Abandon(const Save& save, const std::vector<SavedFile>& files);

/// Asks once more for every file, writes the manifest, reads it back, publishes the pointer and compares what stands
/// with what was sent: by its bytes where data lie in other files, else by what the store says of it. After an error
/// nothing of the save is left, unless its pointer stands or may come to stand: a request without an answer may be
/// carried out later, as long as its condition holds. Then everything stays, what it replaces too, and the error says
/// so. FailedPrecondition where another save came first.
Result<Manifest> CommitSave(const Save& save, const std::vector<SavedFile>& files, FileLayout pointer,
                            nlohmann::json structure = {});

}  // namespace assay::checkpoint
