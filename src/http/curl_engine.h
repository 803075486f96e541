// Transfers by libcurl's multi interface.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "http/easy_transfer.h"
#include "http/engine.h"
#include "http/event_loop.h"

namespace assay::http {

class CurlEngine : public Engine {
 public:
  /// `shared` must outlive it. `max_kept_connections`: idle ones beyond are closed.
  CurlEngine(Shared& shared, int max_kept_connections);

  void Begin(Job job) override;
  bool Cancel(TransferId id) override;
  void CancelAll() override;
  size_t active() const override { return active_.size(); }
  void RunOnce() override;
  void Wake() override { events_.Wake(); }

 private:
  void Forget(EasyTransfer* transfer);
  void Finished(EasyTransfer* transfer, CURLcode code);
  EasyTransfer* LongestPaused() const;
  double ShareBandwidth();

  Shared& shared_;
  const bool initialized_;
  EventLoop events_;
  std::unordered_map<TransferId, EasyTransfer*> active_;
  std::vector<std::unique_ptr<EasyTransfer>> transfers_;
  std::vector<EasyTransfer*> idle_;
};

}  // namespace assay::http
