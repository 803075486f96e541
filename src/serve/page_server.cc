#include "serve/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "http/server.h"
#include "serve/access.h"
#include "serve/event_hub.h"
#include "serve/live_thread.h"
#include "serve/reader_thread.h"
#include "serve/routes.h"

namespace assay::serve {
namespace {

constexpr size_t kShortestToken = 32;
constexpr int kLoops = 2;
constexpr double kLongestHeadSeconds = 10;

/// Names are those of others: what they stand for is found out when the server listens.
bool IsLoopback(const std::string& host) {
  constexpr uint8_t kLoopbackNet = 127;
  in_addr address = {};
  const bool is_ipv4 = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "::1" || (is_ipv4 && (ntohl(address.s_addr) >> 24) == kLoopbackNet);
}

/// As a Host header has it.
std::string HostName(const std::string& host) {
  return host.find(':') == std::string::npos ? Lower(host) : "[" + Lower(host) + "]";
}

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

/// Of "host", "::1", "host:8000" or "[::1]:8000".
Result<std::string> KnownName(const std::string& name) {
  const size_t colon = name.rfind(':');
  const bool has_port = colon != std::string::npos && (name.find(':') == colon || name.starts_with('['));
  if (name.empty() || colon == 0 || (has_port && !IsPort(std::string_view(name).substr(colon + 1)))) {
    return Status::InvalidArgument(fmt::format("--name {}: write HOST, or HOST:PORT of a tunnel or proxy", name));
  }
  return has_port ? Lower(name) : HostName(name);
}

std::string MachineName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "localhost";
}

bool IsEveryAddress(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

Result<std::vector<std::string>> NamesOf(const PageServerOptions& options) {
  std::vector<std::string> names = {HostName(options.host)};
  if (IsEveryAddress(options.host)) {
    names.push_back(HostName(MachineName()));
  }
  if (IsLoopback(options.host)) {
    names.insert(names.end(), {"localhost", "127.0.0.1", "[::1]"});
  }
  for (const std::string& name : options.names) {
    ASSAY_ASSIGN_OR_RETURN(names.emplace_back(), KnownName(name));
  }
  return names;
}

Result<std::string> ReadToken(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const std::string token(Trim(text));
  struct stat status = {};
  constexpr unsigned kOthers = 0077;
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & kOthers) != 0) {
    return Status::InvalidArgument(
        fmt::format("token file {} can be read by others: chmod 600 {} makes it yours", path, path));
  }
  const bool is_plain =
      token.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == std::string::npos;
  if (token.size() < kShortestToken || !is_plain) {
    return Status::InvalidArgument(
        fmt::format("token file {} needs one word of at least {} letters, digits, '-' and '_': openssl rand -hex 16 "
                    "makes one",
                    path, kShortestToken));
  }
  return token;
}

/// What else the process opens, an exploration's workers and store, has the rest of the descriptors.
int MostConnections() {
  constexpr rlim_t kFewest = 16;
  constexpr rlim_t kMost = 1200;
  rlimit limit = {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int>(std::clamp(limit.rlim_max / 4, kFewest, kMost))
                                                 : static_cast<int>(kFewest);
}

}  // namespace

struct PageServer::State {
  State(PageServerOptions given, AccessOptions access_options, int max_connections)
      : options(std::move(given)),
        access(WithNextLink(std::move(access_options))),
        hub(static_cast<size_t>(max_connections / 2)),  // the other half is for what those who listen ask for
        library(options.open_store, options.spaces),
        reader(std::in_place, library, hub),
        live(std::in_place, options.open_store, hub),
        heartbeat(hub, *reader, options.times),
        routes(access, hub, *reader) {
    // Nobody waits for this one: it is there when a page asks for it.
    reader->Ask([](Library& prepared) {
      prepared.Prepare();
      return http::ServerResponse();
    });
  }
  /// Whether all has ended that reads the store.
  bool End() {
    const std::chrono::duration<double> wait(options.end_seconds);
    hub.Close();
    server.reset();  // first: its loops ask the reader
    live->Stop();
    reader->Stop();
    return live->ended().wait_for(wait) == std::future_status::ready &&
           reader->ended().wait_for(wait) == std::future_status::ready;
  }

  AccessOptions WithNextLink(AccessOptions given) {
    given.on_next_link = [this](const std::string& path) {
      if (options.on_next_link) {
        options.on_next_link(LinkTo(path));
      }
    };
    return given;
  }
  std::string LinkTo(const std::string& path) const {
    return IsEveryAddress(options.host) ? fmt::format("http://{}:{}{}", MachineName(), server->port(), path)
                                        : server->url() + path;
  }

  const PageServerOptions options;
  Access access;
  EventHub hub;
  Library library;
  std::optional<ReaderThread> reader;
  std::optional<LiveThread> live;
  Heartbeat heartbeat;
  Routes routes;
  std::unique_ptr<http::Server> server;
};

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

PageServer::~PageServer() {
  if (!state_->End()) {
    // A read blocks, of a disk or server that hangs: it has what it needs until it ends, for which only a thread waits.
    std::thread([blocked = std::move(state_)] {}).detach();
  }
}

Result<std::unique_ptr<PageServer>> PageServer::Start(PageServerOptions options) {
  AccessOptions access;
  ASSAY_ASSIGN_OR_RETURN(access.hosts, NamesOf(options));
  if (!options.token_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(access.token, ReadToken(options.token_file));
  } else if (!IsLoopback(options.host)) {
    return Status::InvalidArgument(fmt::format(
        "--host {} can be reached by others: add --token-file FILE, whose token opens the page", options.host));
  }
  if (!options.open_store) {
    options.open_store = OpenerOf(options.store_url);
  }
  // That it is there and is one: later problems are told on the page.
  ASSAY_RETURN_IF_ERROR(options.open_store().status());
  http::ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.threads = kLoops;
  server.max_connections = options.max_connections > 0 ? options.max_connections : MostConnections();
  server.idle_make_room = true;
  server.take_bodies = false;
  server.head_timeout_seconds = kLongestHeadSeconds;
  auto state = std::make_unique<State>(std::move(options), std::move(access), server.max_connections);
  const auto handler = [state = state.get()](const http::RequestHead& head, std::string_view) {
    return state->routes.Answer(head);
  };
  ASSAY_ASSIGN_OR_RETURN(state->server, http::Server::Start(server, http::WholeBody(handler)));
  state->access.SetPort(state->server->port());
  return std::unique_ptr<PageServer>(new PageServer(std::move(state)));
}

const std::string& PageServer::url() const {
  return state_->server->url();
}

std::string PageServer::StartLink() const {
  return state_->LinkTo(state_->access.StartPath());
}

}  // namespace assay::serve
