// The page of a report over a store that changes, for browsers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/point.h"
#include "serve/heartbeat.h"
#include "serve/library.h"

namespace assay::serve {

struct PageServerOptions {
  std::string store_url = {};
  std::vector<experiment::BoundSpace> spaces = {};  ///< shown before what else the store has
  std::string host = "127.0.0.1";                   ///< to listen on; one that others can reach needs a token file
  int port = 0;                                     ///< 0: any free one
  /// More names by which browsers may ask for the server, with the port where it is another's (of a tunnel, of a
  /// proxy).
  std::vector<std::string> names = {};
  /// A file that only its owner reads, with a token of at least 32 characters that opens the page. Empty: a link opens
  /// it once.
  std::string token_file = {};
  /// More at once wait, and of those that say nothing some end; half of them may listen to events. 0: a quarter of what
  /// the process may open.
  int max_connections = 0;
  /// How the store is opened; empty: by its URL.
  StoreOpener open_store = {};
  Heartbeat::Times times = {};
  double end_seconds = 10;  ///< how long the destructor waits for a read of the store
  /// A link was used, and this is the next one. From any thread.
  std::function<void(const std::string& link)> on_next_link = {};
};

/// A running server, which the destructor stops. A read of a store that blocks may outlive it.
class PageServer {
 public:
  /// An error where the port is in use, the store cannot be read now, or others could reach the page without a token.
  static Result<std::unique_ptr<PageServer>> Start(PageServerOptions options);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  const std::string& url() const;  ///< "http://127.0.0.1:41234"
  /// What opens it in a browser: once, or with a token as often as one likes.
  std::string StartLink() const;

 private:
  struct State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::serve
