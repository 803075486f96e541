#include "http/curl_engine.h"

#include <curl/curl.h>

#include <utility>

#include "base/text.h"

namespace assay::http {
namespace {

// curl_global_init is not safe beside itself; a function's static is initialised once.
bool InitializeCurl() {
  static const bool initialized = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return initialized;
}

EasyTransfer* TransferOf(CURL* handle) {
  char* transfer = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
  return reinterpret_cast<EasyTransfer*>(transfer);
}

void TellSocket(CURL* handle, curl_socket_t socket) {
  // libcurl closes connections on behalf of a handle of its own.
  if (EasyTransfer* transfer = TransferOf(handle); transfer != nullptr) {
    transfer->set_socket(socket);
  }
}

}  // namespace

CurlEngine::CurlEngine(Shared& shared, int max_kept_connections)
    : shared_(shared), initialized_(InitializeCurl()), events_(max_kept_connections, &TellSocket) {}

void CurlEngine::Begin(Job job) {
  if (idle_.empty()) {
    transfers_.push_back(std::make_unique<EasyTransfer>(shared_));
    idle_.push_back(transfers_.back().get());
  }
  EasyTransfer* transfer = idle_.back();
  idle_.pop_back();
  active_[job.id] = transfer;
  ++shared_.received.transfers;
  transfer->Begin(std::move(job));
  events_.Add(transfer->handle());
}

void CurlEngine::Forget(EasyTransfer* transfer) {
  active_.erase(transfer->id());
  --shared_.received.transfers;
}

bool CurlEngine::Cancel(TransferId id) {
  const auto found = active_.find(id);
  if (found == active_.end()) {
    return false;
  }
  EasyTransfer* transfer = found->second;
  events_.Remove(transfer->handle());
  Forget(transfer);
  idle_.push_back(transfer);
  const Client::Callback callback = transfer->TakeCallback();
  callback(transfer->FinishCancelled());
  return true;
}

void CurlEngine::CancelAll() {
  while (!active_.empty()) {
    Cancel(active_.begin()->first);
  }
}

void CurlEngine::Finished(EasyTransfer* transfer, CURLcode code) {
  Forget(transfer);
  const Client::Callback callback = transfer->TakeCallback();
  Outcome outcome = transfer->Finish(code);
  idle_.push_back(transfer);
  callback(std::move(outcome));
}

EasyTransfer* CurlEngine::LongestPaused() const {
  EasyTransfer* longest = nullptr;
  for (const auto& [id, transfer] : active_) {
    if (transfer->paused_since() > 0 && (longest == nullptr || transfer->paused_since() < longest->paused_since())) {
      longest = transfer;
    }
  }
  return longest;
}

/// How long to wait for sockets. Under a cap, lets the transfer go on that has waited longest: none starves.
double CurlEngine::ShareBandwidth() {
  constexpr double kIdleSeconds = 60;
  constexpr double kTurnSeconds = 0.001;
  if (shared_.bucket.unlimited()) {
    return kIdleSeconds;
  }
  EasyTransfer* next = LongestPaused();
  if (next == nullptr) {
    return kIdleSeconds;
  }
  if (const double wait = shared_.bucket.WaitSeconds(MonotonicSeconds()); wait > 0) {
    return wait;
  }
  next->Resume();
  return kTurnSeconds;
}

void CurlEngine::RunOnce() {
  events_.RunOnce(ShareBandwidth(), [this](CURL* handle, CURLcode code) { Finished(TransferOf(handle), code); });
}

}  // namespace assay::http
