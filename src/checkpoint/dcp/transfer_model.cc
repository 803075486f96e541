#include "checkpoint/dcp/transfer_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace assay::checkpoint {
namespace {

constexpr int64_t kOneRequestBytes = int64_t{32} << 20;
constexpr int64_t kPartBytes = int64_t{8} << 20;
constexpr int64_t kConnectionsOfFile = 32;
/// What begins and ends an upload in parts.
constexpr int64_t kRequestsOfUpload = 2;
constexpr int64_t kConnectionsOfCommit = 36;
/// Manifest and pointer, each written and read back.
constexpr double kWritesOfCommit = 2;
constexpr double kReadsOfCommit = 2;
/// What .metadata has of a chunk, and a manifest of it, as WriteDcpMetadata() and WriteManifest() make them.
constexpr int64_t kMetadataBytesOfChunk = 230;
constexpr int64_t kOftenSlowRequests = 100;

int64_t Quotient(int64_t amount, int64_t by) {
  return (amount + by - 1) / by;
}

double LowerRate(double limit, double other) {
  return limit > 0 && other > 0 ? std::min(limit, other) : std::max(limit, other);
}

/// One rank by itself.
struct RankShare {
  int64_t parts = 0;  ///< of each of its files
  int64_t requests = 0;
  double moving_seconds = 0;
  double latency_seconds = 0;
  bool is_held_by_machine = false;
};

class TransferModel {
 public:
  TransferModel(const ModelledRanks& ranks, const StoreLimits& limits, Transfer transfer)
      : ranks_(ranks), limits_(limits), is_save_(transfer == Transfer::kSave) {}

  ModelledTransfer Run() {
    ModelledTransfer result;
    const auto count = static_cast<int>(ranks_.bytes.size());
    std::map<std::string, int64_t> requests_of_prefix;
    std::vector<std::string> prefixes;
    std::vector<RankShare> shares;
    for (int rank = 0; rank < count; ++rank) {
      shares.push_back(ShareOf(ranks_.bytes[static_cast<size_t>(rank)]));
      const std::string name = FilePrefix(ranks_.prefix, rank, count);
      prefixes.push_back(name.substr(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/')));
      requests_of_prefix[prefixes.back()] += shares.back().requests;
      result.requests += shares.back().requests;
    }
    result.files = int64_t{count} * ranks_.files_per_rank;
    result.prefixes = std::ssize(requests_of_prefix);
    result.metadata_bytes = ranks_.chunks * kMetadataBytesOfChunk;
    for (const auto& [prefix, requests] : requests_of_prefix) {
      result.busiest_prefix_requests = std::max(result.busiest_prefix_requests, requests);
    }
    double slowest = -1;
    for (size_t rank = 0; rank < shares.size(); ++rank) {
      const auto [seconds, reason] = SecondsOf(shares[rank], requests_of_prefix[prefixes[rank]]);
      result.rank_seconds.push_back(seconds);
      if (seconds > slowest) {
        slowest = seconds;
        result.limited_by = reason;
      }
    }
    AddWhatAllWaitFor(result);
    return result;
  }

 private:
  double Latency() const { return is_save_ ? limits_.write_seconds : limits_.read_seconds; }
  double SlowLatency() const { return is_save_ ? limits_.slow_write_seconds : limits_.slow_read_seconds; }

  RankShare ShareOf(int64_t bytes) const {
    RankShare share;
    const int64_t of_file = Quotient(bytes, ranks_.files_per_rank);
    share.parts = of_file <= kOneRequestBytes ? 1 : Quotient(of_file, kPartBytes);
    const bool is_upload_of_parts = is_save_ && share.parts > 1;
    share.requests = ranks_.files_per_rank * (share.parts + (is_upload_of_parts ? kRequestsOfUpload : 0));
    const int64_t of_each = std::min(kConnectionsOfFile, share.parts);
    const double by_connections = limits_.connection_bytes_per_s * static_cast<double>(of_each * ranks_.files_per_rank);
    const int64_t neighbours = std::min<int64_t>(ranks_.ranks_per_machine, std::ssize(ranks_.bytes));
    const double by_machine = limits_.machine_bytes_per_s / static_cast<double>(neighbours);
    const double rate = LowerRate(by_connections, by_machine);
    share.is_held_by_machine = by_machine > 0 && rate == by_machine;
    share.moving_seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0;
    share.latency_seconds = Latency() * static_cast<double>(Quotient(share.parts, kConnectionsOfFile) +
                                                            (is_upload_of_parts ? kRequestsOfUpload : 0));
    if (share.requests >= kOftenSlowRequests) {
      share.latency_seconds += std::max(0.0, SlowLatency() - Latency());
    }
    return share;
  }

  std::pair<double, std::string> SecondsOf(const RankShare& share, int64_t requests_of_prefix) const {
    const double alone = share.moving_seconds + share.latency_seconds;
    const double limit = is_save_ ? limits_.prefix_writes_per_s : limits_.prefix_reads_per_s;
    const double by_prefix = limit > 0 ? static_cast<double>(requests_of_prefix) / limit : 0;
    if (by_prefix > alone) {
      return {by_prefix, "requests of a prefix"};
    }
    const char* moving = share.is_held_by_machine ? "the machine" : "connections";
    return {alone, share.latency_seconds > share.moving_seconds ? "latency" : moving};
  }

  /// Of a save the commit; of a load the metadata, which all read.
  void AddWhatAllWaitFor(ModelledTransfer& result) const {
    const RankShare metadata = ShareOf(result.metadata_bytes);
    const double seconds = metadata.moving_seconds + metadata.latency_seconds;
    if (!is_save_) {
      const bool is_most = seconds > std::ranges::max(result.rank_seconds);
      result.limited_by = is_most ? "metadata" : result.limited_by;
      for (double& rank : result.rank_seconds) {
        rank += seconds;
      }
      return;
    }
    const double asked = limits_.read_seconds * static_cast<double>(Quotient(result.files, kConnectionsOfCommit));
    const double allowed =
        limits_.prefix_reads_per_s > 0 ? static_cast<double>(result.files) / limits_.prefix_reads_per_s : 0;
    result.commit_seconds = std::max(asked, allowed / static_cast<double>(std::max<int64_t>(1, result.prefixes))) +
                            kWritesOfCommit * limits_.write_seconds + kReadsOfCommit * limits_.read_seconds + seconds;
    result.requests += result.files;
    if (result.commit_seconds > *std::ranges::max_element(result.rank_seconds)) {
      result.limited_by = "commit";
    }
  }

  const ModelledRanks& ranks_;
  const StoreLimits& limits_;
  const bool is_save_;
};

}  // namespace

double ModelledTransfer::seconds() const {
  return (rank_seconds.empty() ? 0 : std::ranges::max(rank_seconds)) + commit_seconds;
}

ModelledTransfer ModelTransfer(const ModelledRanks& ranks, const StoreLimits& limits, Transfer transfer) {
  return TransferModel(ranks, limits, transfer).Run();
}

}  // namespace assay::checkpoint
