// The keys of a file store in order, found by walking its folders.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "storage/file/key_path.h"
#include "storage/key_cursor.h"

namespace assay::storage {

/// Reads each folder on the way once a seek, and only those that can hold keys from there on. Files whose names are not
/// what the escaping of keys makes, pipes and devices, and folders behind symbolic links are no objects.
class FolderWalk final : public KeyCursor {
 public:
  enum class FileKind { kOther, kFile, kFolder };

  explicit FolderWalk(std::string root);

  Result<std::optional<std::string>> Seek(const std::string& from) override;
  Result<std::optional<std::string>> Next() override;
  Result<std::optional<ObjectInfo>> Describe() override;

 private:
  struct Entry {
    std::string text;  // of the key, behind that of the folder; a folder's ends in '/'
    std::string path;  // relative to the root
    bool folder = false;
  };
  struct Level {
    std::string key;  // what the keys below begin with
    std::vector<Entry> entries{};
    size_t at = 0;
  };

  Status Enter(const std::string& key, const std::string& path);
  /// Adds what an entry of a folder stands for.
  Status Take(FileKind kind, const EntryName& name, const std::string& path, const std::string& text,
              std::vector<Entry>& entries) const;
  Status ReadFolder(const std::string& path, const std::string& text, std::vector<Entry>& entries) const;
  /// Goes on to the first object from `from` on, beginning with the present entry.
  Result<std::optional<std::string>> Settle(const std::string& from);

  const std::string root_;
  std::vector<Level> levels_;
};

}  // namespace assay::storage
