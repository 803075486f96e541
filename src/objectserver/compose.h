// Objects made of what the store holds already, whose content they share: what dialects have in common.
#pragma once

#include <string>

#include "objectserver/record.h"
#include "objectserver/store.h"

namespace assay::objectserver {

constexpr size_t kMaxComposeSources = 32;

/// The CRC32C of content, computed where no dialect has recorded it: another one may have taken it in.
Result<std::string> Crc32cOf(const Digests& digests, const Blob& content);

/// Appends the content of the object `name` in `bucket` to `object`, as a part. `generation`: the one that it must have
/// (kNoSuchKey where it has another); empty: any.
StoreOutcome AppendComposeSource(const Store& store, const std::string& bucket, const std::string& name,
                                 const std::string& generation, ObjectRecord& object);

/// Gives `object` the checksum and the tag that follow from its parts'.
void SealComposite(ObjectRecord& object);

}  // namespace assay::objectserver
