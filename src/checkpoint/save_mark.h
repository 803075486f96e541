// What tells objects that a save of ours wrote from others.
#pragma once

namespace assay::checkpoint {

/// Metadata of every object that a save writes: its id.
inline constexpr char kSaveIdMetadata[] = "assay-save-id";

}  // namespace assay::checkpoint
