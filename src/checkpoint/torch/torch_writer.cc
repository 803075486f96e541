#include "checkpoint/torch/torch_writer.h"

#include <fmt/format.h>

#include <utility>

#include "checkpoint/torch/value_pickler.h"
#include "checkpoint/zip/zip_layout.h"

namespace assay::checkpoint {

Result<FileLayout> LayOutTorchFile(const Value& value, const TorchFileOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(PickledValue pickled, PickleValue(value));
  ZipLayout zip(options.archive, options.alignment);
  zip.AddText("data.pkl", std::move(pickled.bytes));
  zip.AddText(".format_version", "1");
  zip.AddText(".storage_alignment", fmt::format("{}", options.alignment));
  zip.AddText("byteorder", "little");
  for (size_t i = 0; i < pickled.storages.size(); ++i) {
    PickledStorage& storage = pickled.storages[i];
    zip.AddData(fmt::format("data/{}", i), std::move(storage.item), std::move(storage.storage.source),
                storage.storage.offset, storage.storage.bytes);
  }
  zip.AddText("version", "3\n");
  zip.AddText(".data/serialization_id", fmt::format("{:0>40}", options.serialization_id));
  return zip.Finish();
}

}  // namespace assay::checkpoint
