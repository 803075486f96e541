#include "checkpoint/convert.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/safetensors/safetensors_writer.h"
#include "checkpoint/torch/lightning.h"
#include "checkpoint/torch/torch_writer.h"
#include "checkpoint/value/value_json.h"

namespace assay::checkpoint {
namespace {

/// A file name without its last ending.
std::string Stem(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == 0 || dot == std::string::npos ? name : name.substr(0, dot);
}

/// Files of data and what is to be published after them.
struct Laid {
  std::vector<FileToSave> files{};
  FileLayout pointer{};
  nlohmann::json structure{};
};

/// Writes what `lay_out` makes for a save: for another one of names of its own where one that runs at the same time has
/// taken the usual ones.
template <typename LayOut>
Result<Manifest> WriteAndCommit(Save save, const LayOut& lay_out) {
  ASSAY_ASSIGN_OR_RETURN(Laid laid, lay_out(save));
  Result<std::vector<SavedFile>> files = WriteAllSaved(save, laid.files);
  if (files.status().code() == ErrorCode::kFailedPrecondition && save.folder.empty()) {
    save.folder = OwnFolder(save);
    ASSAY_ASSIGN_OR_RETURN(laid, lay_out(save));
    files = WriteAllSaved(save, laid.files);
  }
  return files.ok() ? CommitSave(save, *files, std::move(laid.pointer), std::move(laid.structure)) : files.status();
}

Result<Manifest> WriteSafetensors(const Checkpoint& from, const Place& to, const ConvertOptions& options,
                                  const SaveOptions& save_options) {
  SafetensorsOptions layout_options = {.stem = to.is_folder ? "model" : Stem(to.LastName())};
  layout_options.shard_bytes = to.is_folder ? options.shard_bytes : 0;
  layout_options.shards = to.is_folder ? options.ranks : 0;
  ASSAY_ASSIGN_OR_RETURN(const SafetensorsLayout plan, LayOutSafetensors(from.state, layout_options));
  const bool sharded = !plan.index_name.empty();
  ASSAY_ASSIGN_OR_RETURN(Save save,
                         BeginSave(to, options.format, PointerName(to, options.format, sharded), save_options));
  return WriteAndCommit(std::move(save), [&](const Save& begun) -> Result<Laid> {
    SafetensorsOptions of_save = layout_options;
    of_save.save_id = begun.id;
    of_save.folder = begun.folder;
    ASSAY_ASSIGN_OR_RETURN(SafetensorsLayout layout, LayOutSafetensors(from.state, of_save));
    Laid laid;
    if (sharded) {
      for (NamedLayout& file : layout.files) {
        laid.files.push_back({file.name, [shard = std::move(file.layout)] { return shard; }});
      }
      laid.pointer.AddText(std::move(layout.index));
    } else {
      laid.pointer = std::move(layout.files.front().layout);
    }
    return laid;
  });
}

Result<Manifest> WriteDcp(const Checkpoint& from, const Place& to, const ConvertOptions& options,
                          const SaveOptions& save_options) {
  ASSAY_ASSIGN_OR_RETURN(const SharedState shared, ShareOut(from.state, options.ranks, options.sharing));
  const SavePlanOptions plan_options = {.prefix = options.prefix,
                                        .files_per_rank = options.files_per_rank,
                                        .to_lowest_rank = options.to_lowest_rank,
                                        .page_bytes = options.alignment};
  ASSAY_ASSIGN_OR_RETURN(const SavePlan plan, PlanSave(shared.holdings, plan_options));
  ASSAY_ASSIGN_OR_RETURN(Save save,
                         BeginSave(to, options.format, PointerName(to, options.format, false), save_options));
  return WriteAndCommit(std::move(save), [&](const Save& begun) -> Result<Laid> {
    Laid laid;
    for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
      for (const PlannedFile& file : plan.ranks[rank]) {
        laid.files.push_back({begun.folder + file.name, [&shared, &file, rank] {
                                return LayOutFile(file, shared.holdings[rank], shared.contents[rank]);
                              }});
      }
    }
    laid.pointer.AddText(WriteDcpMetadata(MetadataOfSave(plan, begun.folder, begun.id, to.uri())));
    if (!IsPlainTree(from.state.root)) {
      ASSAY_ASSIGN_OR_RETURN(laid.structure, StructureToJson(from.state.root, LeafForm::kNames));
    }
    return laid;
  });
}

Result<Manifest> WriteTorch(const Checkpoint& from, const Place& to, const ConvertOptions& options,
                            const SaveOptions& save_options) {
  ASSAY_ASSIGN_OR_RETURN(const Save save,
                         BeginSave(to, options.format, PointerName(to, options.format, false), save_options));
  Value root = from.state.root;
  if (options.format == Format::kLightning) {
    root = AsLightning(std::move(root), save_options.step.value_or(0));
  }
  TorchFileOptions file = {.archive = Stem(save.pointer), .serialization_id = save.id};
  file.alignment = options.alignment;
  ASSAY_ASSIGN_OR_RETURN(FileLayout layout, LayOutTorchFile(root, file));
  return CommitSave(save, {}, std::move(layout));
}

}  // namespace

std::string PointerName(const Place& place, Format format, bool sharded) {
  if (format == Format::kDcp) {
    return kDcpMetadataName;
  }
  if (!place.is_folder) {
    return place.LastName();
  }
  return format != Format::kSafetensors ? "pytorch_model.bin"
         : sharded                      ? "model.safetensors.index.json"
                                        : "model.safetensors";
}

Result<Manifest> Convert(const Checkpoint& from, const Place& to, const ConvertOptions& options) {
  SaveOptions save_options = options.save;
  if (!save_options.step) {
    save_options.step = from.step;
  }
  if (options.format == Format::kTorch || options.format == Format::kLightning) {
    return WriteTorch(from, to, options, save_options);
  }
  ASSAY_RETURN_IF_ERROR(CheckExpanded(from.state));
  return options.format == Format::kDcp ? WriteDcp(from, to, options, save_options)
                                        : WriteSafetensors(from, to, options, save_options);
}

}  // namespace assay::checkpoint
