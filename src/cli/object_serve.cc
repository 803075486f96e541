// assay object serve: the embedded object server in the foreground.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "objectserver/server.h"

namespace assay::cli {
namespace {

struct ServeVerbOptions {
  objectserver::ServeOptions serve;
  std::string dialects = "s3,gcs,oci";
  bool anonymous = false;
  std::string output;
};

/// Everybody may do everything only where that was said, or where nobody else can reach the server.
Status CheckAccess(const ServeVerbOptions& options) {
  const std::string& host = options.serve.host;
  const bool loopback = host == "localhost" || host == "::1" || host.starts_with("127.");
  if (options.anonymous && !options.serve.credentials_file.empty()) {
    return Status::InvalidArgument("--anonymous and --credentials contradict each other: choose one");
  }
  if (!loopback && !options.anonymous && options.serve.credentials_file.empty()) {
    return Status::InvalidArgument("--host " + host +
                                   " can be reached by others: add --credentials FILE, or --anonymous to let everybody "
                                   "do everything");
  }
  return Status::Ok();
}

/// One line, which says that the server stands.
void PrintAddress(const ServeVerbOptions& options, const std::string& url) {
  const objectserver::ServeOptions& serve = options.serve;
  if (options.output == "json") {
    fmt::print("{}\n", DumpJson({{"root", serve.root},
                                 {"url", url},
                                 {"dialects", Split(options.dialects, ',')},
                                 {"anonymous", serve.credentials_file.empty()}}));
  } else {
    fmt::print("serving {} at {} ({}{})\n", serve.root, url, options.dialects,
               serve.credentials_file.empty() ? ", anonymous" : "");
  }
  std::fflush(stdout);
}

Status Run(const ServeVerbOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckAccess(options));
  objectserver::ServeOptions serve = options.serve;
  serve.dialects = Split(options.dialects, ',');
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<objectserver::ObjectServer> server,
                         objectserver::ObjectServer::Start(serve));
  for (const std::string& line : server->warnings()) {
    fmt::print(stderr, "warning: {}\n", line);
  }
  PrintAddress(options, server->url());
  WaitForInterrupt();
  server->Stop();
  return Status::Ok();
}

}  // namespace

Action AddObjectServe(CLI::App& app) {
  auto options = std::make_shared<ServeVerbOptions>();
  objectserver::ServeOptions& serve = options->serve;
  app.add_option("--root", serve.root, "Where objects are kept: a folder, or memory")
      ->type_name("DIR|memory")
      ->capture_default_str();
  app.add_option("--port", serve.port, "Port; 0: any free one")->check(WholeNumber(0, 65535))->capture_default_str();
  app.add_option("--host", serve.host, "Address to listen on")->capture_default_str();
  auto* certificate = app.add_option("--tls-cert", serve.tls_certificate_file, "PEM: https with these certificates");
  auto* key = app.add_option("--tls-key", serve.tls_key_file, "PEM: the key of the first of them");
  certificate->needs(key);
  key->needs(certificate);
  app.add_option("--dialect", options->dialects, "Protocols, comma separated: s3, gcs, oci")
      ->type_name("A,B")
      ->capture_default_str();
  app.add_option("--credentials", serve.credentials_file, "YAML file of the keys and tokens that are let in")
      ->type_name("FILE");
  app.add_flag("--anonymous", options->anonymous, "Let everybody do everything (the default on the loopback)");
  app.add_option("--profile", serve.profile, "Modelled network and store: a YAML file or the name of a ready one")
      ->type_name("FILE|NAME");
  app.add_option("--seed", serve.seed, "Of the model: the same seed replays the same run")->capture_default_str();
  app.add_option("--bucket", serve.buckets, "Make this bucket at the start; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME");
  app.add_option("--region", serve.region, "Region of new buckets")->capture_default_str();
  app.add_option("--threads", serve.threads, "Event loops; 0: one a core, 2 to 8")
      ->check(WholeNumber(0, 64))
      ->capture_default_str();
  app.add_flag("--md5-etags", serve.always_md5,
               "Entity tags are MD5 whatever the size (else only up to 1 MiB or where a client sends one: it is slow)");
  AddOutputOption(app, options->output, {"text", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
