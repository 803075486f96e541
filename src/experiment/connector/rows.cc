#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "data/datasets.h"
#include "data/jsonl_file.h"
#include "data/row_encoder.h"
#include "experiment/connector/connector.h"
#include "job/row_digest.h"

namespace assay::experiment {
namespace {

/// The two texts of a row; "output" is parted behind the template, as it is trained on.
Result<nlohmann::json> TextsOf(const data::Row& row) {
  if (row.kind == data::RowKind::kPromptCompletion) {
    return nlohmann::json{{"prompt", row.text}, {"completion", row.completion}};
  }
  const size_t at =
      row.kind == data::RowKind::kText ? row.text.rfind(data::kDefaultResponseTemplate) : std::string::npos;
  if (at == std::string::npos) {
    return Status::InvalidArgument(
        "a connector test takes rows with prompt and completion, or with output and the response template");
  }
  const size_t parted = at + data::kDefaultResponseTemplate.size();
  return nlohmann::json{{"prompt", row.text.substr(0, parted)}, {"completion", row.text.substr(parted)}};
}

/// The file itself last: where it is, so is what is told of it.
Status WriteRows(const data::RowSource& rows, const std::string& path, const std::string& digest_path) {
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  job::RowDigest digest;
  for (int64_t i = 0; i < rows.size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(const data::Row row, rows.Read(i));
    const Result<nlohmann::json> texts = TextsOf(row);
    ASSAY_RETURN_IF_ERROR(texts.status().WithContext(rows.Where(i)));
    ASSAY_RETURN_IF_ERROR(file.Write(DumpJson(*texts) + "\n"));
    digest.Add(texts->at("prompt").get_ref<const std::string&>(),
               texts->at("completion").get_ref<const std::string&>());
  }
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(digest_path, std::to_string(digest.value())));
  return file.Commit();
}

}  // namespace

Result<RowsFile> ConnectorRows(const std::string& data, const PlanContext& context) {
  std::unique_ptr<data::RowSource> rows;
  if (data::IsKnownDataset(data)) {
    ASSAY_ASSIGN_OR_RETURN(rows, data::OpenDataset(data, context.ShareFolder()));
  } else {
    ASSAY_ASSIGN_OR_RETURN(rows, data::JsonlFile::Open(data));
  }
  const std::string folder = context.CacheFolder() + "/connector-rows";
  RowsFile file{.path = fmt::format("{}/{}.jsonl", folder, rows->content_hash().substr(0, 24)), .rows = rows->size()};
  const std::string digest_path = file.path + ".digest";
  if (!FileExists(file.path) || !FileExists(digest_path)) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
    ASSAY_RETURN_IF_ERROR(WriteRows(*rows, file.path, digest_path));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string digest, ReadFile(digest_path));
  file.digest = std::strtoll(digest.c_str(), nullptr, 10);
  return file;
}

}  // namespace assay::experiment
