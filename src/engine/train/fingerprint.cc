#include "engine/train/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "data/prepare.h"
#include "engine/model/status_error.h"
#include "job/model_folder.h"

namespace assay::engine {

std::string fingerprint_of_file(const std::string& path) {
  constexpr size_t kBlock = 4096;
  constexpr size_t kBlocks = 256;
  const std::shared_ptr<const MappedFile> file = value_or_throw(MappedFile::Open(path));
  const std::string_view text = file->text();
  const size_t step = std::max(kBlock, text.size() / kBlocks);
  std::string sample = std::to_string(text.size());
  for (size_t begin = 0; begin < text.size(); begin += step) {
    sample += text.substr(begin, kBlock);
  }
  sample += text.substr(text.size() - std::min(text.size(), kBlock));
  return Sha256Hex(sample).substr(0, 12);
}

std::string fingerprint_of_model(const std::string& folder) {
  std::string all;
  for (const std::string& name : value_or_throw(job::ModelFiles(folder))) {
    all += name + " " + fingerprint_of_file(folder + "/" + name) + "\n";
  }
  return Sha256Hex(all).substr(0, 12);
}

std::string fingerprint_of_rows(const job::TunePlan& plan) {
  if (plan.data_uri.empty()) {
    return fingerprint_of_file(plan.tokens_file);
  }
  const std::string tokenizer =
      plan.tokenizer.empty() ? std::string() : value_or_throw(data::HashTokenizer(plan.tokenizer));
  return Sha256Hex(fmt::format("{}\n{}\n{}", plan.data_fingerprint, tokenizer, plan.response_template)).substr(0, 12);
}

}  // namespace assay::engine
