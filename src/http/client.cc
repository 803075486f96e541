#include "http/client.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "http/curl_engine.h"
#include "http/engine.h"
#include "http/io_thread.h"
#include "http/proxy.h"
#include "http/wire/wire_engine.h"

namespace assay::http {
namespace {

int ThreadsOf(const ClientOptions& options) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int wanted = options.io_threads > 0 ? options.io_threads : std::min(kDefaultIoThreads, cores);
  return std::clamp(wanted, 1, std::min(kMaxIoThreads, std::max(1, options.max_connections)));
}

}  // namespace

struct Client::Parts {
  /// An I/O thread and how much it has to do.
  struct Worker {
    std::unique_ptr<IoThread> thread;
    std::atomic<int> transfers = 0;  ///< whose callbacks have not run
  };

  explicit Parts(ClientOptions all);
  ~Parts();

  Worker& WorkerOf(TransferId id) { return workers[id % workers.size()]; }
  /// Whether a transfer to `url` is for connections of our own.
  bool IsOwn(std::string_view url) const;
  /// Which thread gets a transfer.
  size_t LeastBusy(bool own) const;

  const ClientOptions options;
  const bool own_http;
  const bool own_https;
  Shared shared;
  AddressBook addresses;
  TlsContext tls;
  std::atomic<uint64_t> started = 0;
  std::vector<Worker> workers;  ///< those of our own connections, then as many of libcurl's
};

Client::Parts::Parts(ClientOptions all)
    : options(std::move(all)),
      own_http(options.carrier == Carrier::kDirect && !MayBeProxied(options, "http")),
      own_https(options.carrier == Carrier::kDirect && !MayBeProxied(options, "https")),
      shared(options),
      tls(options),
      workers(2 * static_cast<size_t>(ThreadsOf(options))) {
  const size_t count = workers.size() / 2;
  const auto connections = static_cast<size_t>(std::max(1, options.max_connections));
  for (size_t i = 0; i < count; ++i) {
    const auto share = static_cast<int>((connections + count - 1 - i) / count);
    workers[i].thread = std::make_unique<IoThread>(std::make_unique<WireEngine>(shared, addresses, tls, share), share);
    workers[count + i].thread = std::make_unique<IoThread>(std::make_unique<CurlEngine>(shared, share), share);
  }
}

/// All are stopped before one is gone: callbacks of one may start transfers on another.
Client::Parts::~Parts() {
  for (Worker& worker : workers) {
    worker.thread->Stop();
  }
}

bool Client::Parts::IsOwn(std::string_view url) const {
  constexpr std::string_view kTls = "https:";
  const bool tls = url.size() > kTls.size() && ::strncasecmp(url.data(), kTls.data(), kTls.size()) == 0;
  return tls ? own_https : own_http;
}

size_t Client::Parts::LeastBusy(bool own) const {
  const auto count = static_cast<ptrdiff_t>(workers.size() / 2);
  const auto first = workers.begin() + (own ? 0 : count);
  const auto busy = [](const Worker& worker) { return worker.transfers.load(std::memory_order_relaxed); };
  return static_cast<size_t>(std::ranges::min_element(first, first + count, {}, busy) - workers.begin());
}

Client::Client(ClientOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

Client::~Client() = default;

const ClientOptions& Client::options() const {
  return parts_->options;
}

TransferId Client::Start(Transfer transfer, Callback callback) {
  const size_t index = parts_->LeastBusy(parts_->IsOwn(transfer.request.url));
  Parts::Worker& worker = parts_->workers[index];
  ++worker.transfers;
  Job job;
  job.id = ++parts_->started * parts_->workers.size() + index;
  job.transfer = std::move(transfer);
  job.callback = [&worker, callback = std::move(callback)](Outcome outcome) {
    --worker.transfers;
    callback(std::move(outcome));
  };
  const TransferId id = job.id;
  worker.thread->Submit(std::move(job));
  return id;
}

void Client::Cancel(TransferId id) {
  parts_->WorkerOf(id).thread->Cancel(id);
}

Outcome Client::Run(Transfer transfer) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Outcome> answer;
  Start(std::move(transfer), [&](Outcome outcome) {
    const std::lock_guard lock(mutex);
    answer = std::move(outcome);
    arrived.notify_one();
  });
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return answer.has_value(); });
  return std::move(*answer);
}

Result<Response> Client::Fetch(Request request) {
  const std::string what = fmt::format("{} {}", request.method, request.url.substr(0, request.url.find('?')));
  Transfer transfer;
  transfer.request = std::move(request);
  Outcome outcome = Run(std::move(transfer));
  if (!outcome.ok()) {
    return Status::Io(fmt::format("{}: {}: {}", what, NameOf(outcome.error), outcome.detail));
  }
  return std::move(outcome.response);
}

}  // namespace assay::http
