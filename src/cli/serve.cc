// assay serve: the page of a report over a store, kept up to date, in the foreground.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/serve_options.h"
#include "cli/space_store.h"
#include "cli/verb.h"
#include "serve/page_server.h"

namespace assay::cli {
namespace {

constexpr int kServePort = 27729;  // "assay" on a telephone

struct PageVerbOptions {
  std::vector<std::string> spaces;
  std::string store;
  serve::PageServerOptions server{.port = kServePort};
};

/// The one store that is given, or that the spaces name.
Result<std::string> StoreOfSpaces(const PageVerbOptions& options) {
  std::string store = options.store;
  for (const std::string& path : options.spaces) {
    ASSAY_ASSIGN_OR_RETURN(const std::string named, StoreOfSpace(options.store, path));
    if (&path != &options.spaces.front() && named != store) {
      return Status::InvalidArgument(
          fmt::format("{} and {} name different stores: choose one with --store", options.spaces.front(), path));
    }
    store = named;
  }
  return store.empty() ? samplestore::DefaultStoreUrl() : store;
}

/// SQLite maps the file "-shm" beside a store: whoever reads it after another program cut it short gets this signal.
void OnBusError(int) {
  constexpr std::string_view kSaid =
      "assay: a file that was being read was cut short, most likely the \"-shm\" beside the store: leave it "
      "alone while the store is served, and start again\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kSaid.data(), kSaid.size());
  ::_exit(1);
}

Status Run(const PageVerbOptions& options) {
  std::signal(SIGBUS, &OnBusError);
  serve::PageServerOptions server = options.server;
  ASSAY_ASSIGN_OR_RETURN(server.store_url, StoreOfSpaces(options));
  for (const std::string& path : options.spaces) {
    ASSAY_ASSIGN_OR_RETURN(experiment::BoundSpace space, experiment::ReadBoundSpace(path));
    server.spaces.push_back(std::move(space));
  }
  ASSAY_ASSIGN_OR_RETURN(const auto running, StartPageServer(server));
  WaitForInterrupt();
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<serve::PageServer>> StartPageServer(serve::PageServerOptions options) {
  const bool opens_once = options.token_file.empty();
  options.on_next_link = [](const std::string& link) { fmt::print(stderr, "another browser: {}\n", link); };
  ASSAY_ASSIGN_OR_RETURN(auto server, serve::PageServer::Start(std::move(options)));
  fmt::print(stderr, "serving at {}\nopen {}{}\n", server->url(),
             opens_once ? server->StartLink() : server->url() + "/start/TOKEN",
             opens_once ? "" : " with the token of the file");
  return server;
}

Action AddServe(CLI::App& app) {
  auto options = std::make_shared<PageVerbOptions>();
  serve::PageServerOptions& server = options->server;
  app.add_option("spaces", options->spaces, "Discovery spaces (YAML) to show, before what else the store has")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("SPACE.yaml");
  AddStoreOption(app, options->store);
  app.add_option("--port", server.port, "Port; 0: any free one")->check(WholeNumber(0, 65535))->capture_default_str();
  app.add_option("--host", server.host, "Address to listen on; one that others can reach needs --token-file")
      ->capture_default_str();
  app.add_option("--name", server.names,
                 "A further name by which browsers ask for this server, with the port of a tunnel; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("HOST[:PORT]");
  app.add_option("--token-file", server.token_file,
                 "A file that only its owner can read, with the token that opens the page as often as one likes")
      ->type_name("FILE");
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
