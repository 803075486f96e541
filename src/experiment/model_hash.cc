#include "experiment/model_hash.h"

#include <fmt/format.h>

#include <vector>

#include "base/files.h"
#include "data/file_hash.h"
#include "job/model_folder.h"

namespace assay::experiment {

Result<std::string> HashModel(const std::string& model_dir, const std::string& cache_dir) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, job::ModelFiles(model_dir));
  std::string contents;
  for (const std::string& name : names) {
    ASSAY_ASSIGN_OR_RETURN(const std::string hash, data::HashFile(model_dir + "/" + name, cache_dir));
    contents += fmt::format("{} {}\n", name, hash);
  }
  return Sha256Hex(contents);
}

}  // namespace assay::experiment
