#include "engine/comm/rendezvous.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "engine/comm/communicator.h"
#include "engine/comm/host_map.h"

namespace assay::engine {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

/// c10d writes a stack trace with each attempt that it makes again, and with each question to a store that is gone;
/// what went wrong is in its errors.
void silence_library() {
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

/// c10d and gloo write to sockets in a way that ends the process, without a word, when a peer has gone. A handler that
/// the program has put there itself stays.
void outlive_broken_connections() {
  struct sigaction current = {};
  if (::sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

/// What stands under a rank's key begins with one of these: what it gave, or how long the others waited for it in vain.
constexpr char kHere = '+';
constexpr char kGivenUp = '-';

using TcpStore = c10::intrusive_ptr<c10d::TCPStore>;

/// c10d waits without end for the answer of a program that listens at the place but is no store: the attempt is made on
/// a thread that can be left behind. Null when nobody answers; throws what c10d does.
TcpStore open_store(const std::string& address, const c10d::TCPStoreOptions& options) {
  auto attempt = std::make_shared<std::packaged_task<TcpStore()>>(
      [address, options] { return c10::make_intrusive<c10d::TCPStore>(address, options); });
  std::future<TcpStore> store = attempt->get_future();
  std::thread([attempt] { (*attempt)(); }).detach();
  // Where nobody listens c10d gives up by itself, mostly in this time.
  constexpr std::chrono::seconds kLeeway{2};
  return store.wait_for(options.timeout + kLeeway) == std::future_status::ready ? store.get() : TcpStore();
}

bool somebody_listens(const std::string& address, int64_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return false;
  }
  bool connected = false;
  for (const addrinfo* each = found; each != nullptr && !connected; each = each->ai_next) {
    const FileDescriptor socket(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
    connected = ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0;
  }
  ::freeaddrinfo(found);
  return connected;
}

}  // namespace

Rendezvous::Rendezvous(const RankEnvironment& environment, const CommOptions& options)
    : environment_(environment), start_seconds_(options.start_seconds) {
  silence_library();
  outlive_broken_connections();
  try {
    connect(options);
    agree("world size", std::to_string(environment.world_size), "WORLD_SIZE");
    agree("job", environment.job, "the job's id");
    register_rank();
    agree_on_run();
  } catch (const c10::Error& error) {
    throw CommError(fmt::format("rank {} cannot use the meeting place {}: {}", environment.rank, place(),
                                error.what_without_backtrace()));
  }
}

std::string Rendezvous::place() const {
  return fmt::format("{}:{}", environment_.address, environment_.port);
}

void Rendezvous::connect(const CommOptions& options) {
  c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(environment_.port);
  store.isServer = serves();
  store.waitWorkers = false;
  store.timeout = milliseconds(options.start_seconds);
  const auto nobody = [&] {
    return CommError(
        fmt::format("rank {} finds nobody at {} within {} (is rank 0 running, and are MASTER_ADDR and "
                    "MASTER_PORT right?)",
                    environment_.rank, place(), FormatSeconds(options.start_seconds)));
  };
  try {
    const TcpStore opened = open_store(environment_.address, store);
    if (!opened && !somebody_listens(environment_.address, environment_.port)) {
      throw nobody();
    }
    if (!opened) {
      throw CommError(
          fmt::format("rank {} had no answer from what listens at {} within {}: another program has the port (set "
                      "MASTER_PORT to a free one)",
                      environment_.rank, place(), FormatSeconds(options.start_seconds)));
    }
    store_ = c10::make_intrusive<c10d::PrefixStore>(fmt::format("assay/{}", environment_.restart), opened);
  } catch (const c10::Error& error) {
    if (store.isServer) {
      const bool in_use = std::string_view(error.what_without_backtrace()).find("EADDRINUSE") != std::string::npos;
      throw CommError(
          fmt::format("rank 0 cannot listen at {}: {} (set MASTER_PORT to a free port)", place(),
                      in_use ? "the port is in use, perhaps by another job" : error.what_without_backtrace()));
    }
    throw nobody();
  }
}

/// The first rank to come says what `key` is; who has something else belongs to another job.
void Rendezvous::agree(const std::string& key, const std::string& own, const std::string& what) {
  const std::string first = store_->compareSet(key, "", own.empty() ? "none" : own);
  if (first != (own.empty() ? "none" : own)) {
    throw CommError(
        fmt::format("rank {} was started with {} {}, but {} belongs to ranks with {}: two jobs cannot meet "
                    "at one place (set MASTER_PORT to a free port)",
                    environment_.rank, what, own.empty() ? "none" : own, place(), first));
  }
}

void Rendezvous::register_rank() {
  if (store_->add(fmt::format("rank {}", environment_.rank), 1) > 1) {
    throw CommError(fmt::format("rank {} is at {} already: it was started twice, or two jobs meet at one place",
                                environment_.rank, place()));
  }
}

void Rendezvous::agree_on_run() {
  std::random_device random;
  const uint64_t own = uint64_t{random()} << 32 | random();
  run_ = std::stoull(store_->compareSet("run", "", std::to_string(own)));
}

/// Unless the others have given this rank up.
void Rendezvous::put(const std::string& key, const std::string& value) {
  const std::string given = kHere + value;
  if (const std::string found = store_->compareSet(key, "", given); found != given) {
    throw CommError(fmt::format("rank {} came to {} too late: the others had waited {} for it, and given up",
                                environment_.rank, place(), found.substr(1)));
  }
  store_->set(key, given);  // compareSet() wakes nobody who waits for the key
}

/// Whoever still waits for them finds this mark.
void Rendezvous::give_up_missing(const std::vector<std::string>& keys) {
  const std::string mark = kGivenUp + FormatSeconds(start_seconds_);
  for (const std::string& key : keys) {
    if (store_->compareSet(key, "", mark) == mark) {
      store_->set(key, mark);
    }
  }
}

std::vector<std::string> Rendezvous::exchange(std::string_view key, const std::string& own) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < environment_.world_size; ++rank) {
    keys.push_back(fmt::format("{} of {}", key, rank));
  }
  std::vector<std::string> all;
  std::vector<int> missing;
  std::string waited;
  try {
    put(keys[static_cast<size_t>(environment_.rank)], own);
    try {
      store_->wait(keys, milliseconds(start_seconds_));
    } catch (const c10::Error&) {
      give_up_missing(keys);
    }
    for (int rank = 0; rank < environment_.world_size; ++rank) {
      const std::string value = store_->get_to_str(keys[static_cast<size_t>(rank)]);
      if (value.front() == kGivenUp) {
        missing.push_back(rank);
        waited = value.substr(1);
      }
      all.push_back(value.substr(1));
    }
  } catch (const c10::Error&) {
    throw CommError(
        fmt::format("rank {} lost the meeting place {} (rank 0 or its machine has ended)", environment_.rank, place()));
  }
  if (!missing.empty()) {
    stay_until_known(key, environment_.world_size - static_cast<int>(missing.size()));
    throw CommError(fmt::format(
        "{} did not come to {} within {} (is every machine up, and started with this MASTER_ADDR and MASTER_PORT?)",
        describe_ranks(missing), place(), waited));
  }
  return all;
}

/// The store goes with the rank that serves it, so that one stays until all who came know.
void Rendezvous::stay_until_known(std::string_view key, int came) {
  const std::string counter = fmt::format("who knows of {}", key);
  constexpr double kPatienceSeconds = 5;
  const double start = MonotonicSeconds();
  try {
    int64_t know = store_->add(counter, 1);
    while (serves() && know < came && MonotonicSeconds() - start < kPatienceSeconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      know = store_->add(counter, 0);
    }
  } catch (const c10::Error&) {
    return;  // whoever serves the store has gone before this rank could say so
  }
}

}  // namespace assay::engine
