#include "objectserver/server.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "base/files.h"
#include "http/server.h"
#include "objectserver/context.h"
#include "objectserver/credentials.h"
#include "objectserver/front.h"
#include "objectserver/model/model.h"
#include "objectserver/oci/preauthenticated.h"
#include "objectserver/persistence.h"
#include "objectserver/store.h"
#include "objectserver/tokens.h"

namespace assay::objectserver {
namespace {

constexpr const char* kDialects[] = {"s3", "gcs", "oci"};

Status CheckDialects(const std::vector<std::string>& dialects) {
  for (const std::string& dialect : dialects) {
    if (std::ranges::find(kDialects, dialect) == std::end(kDialects)) {
      return Status::InvalidArgument("unknown dialect '" + dialect + "': choose among s3, gcs and oci");
    }
  }
  return dialects.empty() ? Status::InvalidArgument("no dialect chosen: choose among s3, gcs and oci") : Status::Ok();
}

/// Any store's names, and short ones for tests.
bool IsServedName(const std::string& name) {
  constexpr size_t kMaxBytes = 255;
  const auto is_legal = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= kMaxBytes && name.front() != '.' && std::ranges::all_of(name, is_legal);
}

Status MakeBuckets(const ServeOptions& options, Store& store) {
  for (const std::string& bucket : options.buckets) {
    if (!IsServedName(bucket)) {
      return Status::InvalidArgument("cannot make bucket '" + bucket +
                                     "': a name is 1 to 255 letters, digits, '.', '-' and '_', the first no '.'");
    }
    const StoreOutcome outcome = store.CreateBucket(bucket, options.region);
    if (outcome.code == StoreCode::kFailed) {
      return Status::Io("cannot make bucket '" + bucket + "': " + outcome.message);
    }
  }
  return Status::Ok();
}

/// Those that the folder keeps. Without a file that can be understood none are granted.
Status UsePreauthenticated(const std::string& root, oci::PreauthenticatedRequests& requests,
                           std::vector<std::string>& warnings) {
  const std::string path = root + "/preauthenticated.json";
  const Status used = requests.UseFile(path);
  return used.ok() ? used : SetAside(root, path, used, Aside::kMoved, warnings);
}

}  // namespace

struct ObjectServer::State {
  ServeOptions options;
  Credentials credentials = Credentials::Anonymous();
  std::unique_ptr<Tokens> tokens;
  oci::PreauthenticatedRequests preauthenticated;
  std::unique_ptr<Store> store;
  std::vector<std::string> warnings;
  std::unique_ptr<Model> model;
  Context context;
  std::unique_ptr<Front> front;
  std::unique_ptr<http::Server> server;  // last: stopped before what it uses goes
};

ObjectServer::ObjectServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ObjectServer::~ObjectServer() {
  Stop();
}

Result<std::unique_ptr<ObjectServer>> ObjectServer::Start(const ServeOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckDialects(options.dialects));
  auto state = std::make_unique<State>();
  state->options = options;
  if (!options.credentials_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(state->credentials, Credentials::ReadFile(options.credentials_file));
  }
  http::ServerOptions server_options;
  if (!options.profile.empty()) {
    ASSAY_ASSIGN_OR_RETURN(Profile profile, ReadProfile(options.profile, ShareDirectory()));
    server_options.network = {profile.connection_bytes_per_s, profile.total_bytes_per_s};
    state->model = std::make_unique<Model>(std::move(profile), options.seed);
  }
  ASSAY_ASSIGN_OR_RETURN(state->store, Store::Open(options.root));
  ASSAY_RETURN_IF_ERROR(MakeBuckets(options, *state->store));
  if (state->model && state->model->profile().ignores_conditions) {
    state->store->IgnoreConditions();
  }
  state->warnings = state->store->warnings();
  if (options.root != "memory") {
    ASSAY_RETURN_IF_ERROR(UsePreauthenticated(options.root, state->preauthenticated, state->warnings));
  }
  state->tokens = std::make_unique<Tokens>(state->credentials);
  state->context = {.options = &state->options,
                    .credentials = &state->credentials,
                    .store = state->store.get(),
                    .tokens = state->tokens.get(),
                    .preauthenticated = &state->preauthenticated,
                    .model = state->model.get()};
  state->front = std::make_unique<Front>(state->context);
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.threads = options.threads;
  server_options.tls_certificate_file = options.tls_certificate_file;
  server_options.tls_key_file = options.tls_key_file;
  ASSAY_ASSIGN_OR_RETURN(state->server,
                         http::Server::Start(server_options, [front = state->front.get()](http::RequestHead head) {
                           return front->Open(std::move(head));
                         }));
  state->front->Serve(state->server->stats());
  return std::unique_ptr<ObjectServer>(new ObjectServer(std::move(state)));
}

const std::string& ObjectServer::url() const {
  return state_->server->url();
}

int ObjectServer::port() const {
  return state_->server->port();
}

const std::vector<std::string>& ObjectServer::warnings() const {
  return state_->warnings;
}

Store& ObjectServer::store() {
  return *state_->store;
}

std::string ObjectServer::Metrics() const {
  return state_->front->Metrics();
}

void ObjectServer::Stop() {
  state_->server->Stop();
}

}  // namespace assay::objectserver
