// Several checksums of one content, computed in one pass while it is received.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "storage/integrity/checksum.h"

namespace assay::objectserver {

/// Raw digests by kind.
using Digests = std::map<storage::ChecksumKind, std::string>;

/// Belongs to one thread.
class DigestSet {
 public:
  explicit DigestSet(const std::set<storage::ChecksumKind>& kinds);
  void Update(std::span<const std::byte> bytes);
  Digests Finish();

 private:
  std::vector<std::pair<storage::ChecksumKind, storage::ChecksumStream>> streams_;
};

/// The digest of a whole from those of its parts in order, for the CRCs, which combine. `sizes` are the parts'.
std::string CombineDigests(storage::ChecksumKind kind, const std::vector<std::string>& digests,
                           const std::vector<int64_t>& sizes);
/// True for the CRCs.
bool CanCombine(storage::ChecksumKind kind);

/// The kind from which an entity tag is made: MD5, which clients may compare, for small bodies and where one was sent
/// or asked for; else the CRC64NVME, because MD5 would be the slowest part of a large upload.
storage::ChecksumKind EtagKind(bool has_size, int64_t size, bool md5_sent, bool always_md5);
/// 32 hexadecimal digits for MD5; else digits and "-0", a form that no client takes for an MD5.
std::string EtagOf(const Digests& digests, storage::ChecksumKind kind, int64_t size);
/// A tag that says nothing of the content, another for each write, as OCI gives them: with dashes, so that nobody takes
/// it for an MD5.
std::string OpaqueEtag();
/// As S3 makes it of the parts' tags: the MD5 of their digests, and "-" with their number.
std::string MultipartEtag(const std::vector<std::string>& part_etags);

}  // namespace assay::objectserver
