#include "objectserver/credentials.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/yaml.h"

namespace assay::objectserver {
namespace {

Result<std::string> TextOf(const YamlNode& map, std::string_view key) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode node, map.Get(key));
  return node.AsText();
}

Result<double> ExpiryOf(const YamlNode& map) {
  if (!map.Has("expires")) {
    return 0.0;
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode expires, map.Get("expires"));
  return expires.AsNumber();
}

Status ReadKey(const YamlNode& node, std::map<std::string, storage::SigV4Secret, std::less<>>& keys) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"access_key_id", "secret_access_key", "session_token", "expires"}));
  ASSAY_ASSIGN_OR_RETURN(std::string id, TextOf(node, "access_key_id"));
  storage::SigV4Secret secret;
  ASSAY_ASSIGN_OR_RETURN(secret.secret_access_key, TextOf(node, "secret_access_key"));
  if (node.Has("session_token")) {
    ASSAY_ASSIGN_OR_RETURN(secret.session_token, TextOf(node, "session_token"));
  }
  ASSAY_ASSIGN_OR_RETURN(secret.expires, ExpiryOf(node));
  keys[std::move(id)] = std::move(secret);
  return Status::Ok();
}

Status ReadToken(const YamlNode& node, std::map<std::string, double, std::less<>>& tokens) {
  if (!node.IsMap()) {
    ASSAY_ASSIGN_OR_RETURN(std::string token, node.AsText());
    tokens[std::move(token)] = 0;
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"token", "expires"}));
  ASSAY_ASSIGN_OR_RETURN(std::string token, TextOf(node, "token"));
  ASSAY_ASSIGN_OR_RETURN(tokens[std::move(token)], ExpiryOf(node));
  return Status::Ok();
}

Result<OciKey> ReadOciKey(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"key_id", "public_key_file", "expires"}));
  OciKey key;
  ASSAY_ASSIGN_OR_RETURN(key.key_id, TextOf(node, "key_id"));
  ASSAY_ASSIGN_OR_RETURN(const std::string path, TextOf(node, "public_key_file"));
  ASSAY_ASSIGN_OR_RETURN(key.public_key_pem, assay::ReadFile(path));
  ASSAY_ASSIGN_OR_RETURN(key.expires, ExpiryOf(node));
  return key;
}

Result<ServiceAccount> ReadServiceAccount(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"client_email", "public_key_file"}));
  ServiceAccount account;
  ASSAY_ASSIGN_OR_RETURN(account.client_email, TextOf(node, "client_email"));
  ASSAY_ASSIGN_OR_RETURN(const std::string path, TextOf(node, "public_key_file"));
  ASSAY_ASSIGN_OR_RETURN(account.public_key_pem, assay::ReadFile(path));
  return account;
}

/// The items of the list under `key`; none where it is missing.
Result<std::vector<YamlNode>> ItemsOf(const YamlNode& map, std::string_view key) {
  if (!map.Has(key)) {
    return std::vector<YamlNode>();
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode list, map.Get(key));
  if (!list.IsSequence()) {
    return list.Error(std::string(key) + " must be a list");
  }
  return list.items();
}

}  // namespace

Result<Credentials> Credentials::ReadFile(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::ReadFile(path));
  if (!root.IsMap()) {
    return root.Error("a credentials file is a map with keys, tokens, service_accounts or oci_keys");
  }
  ASSAY_RETURN_IF_ERROR(root.CheckKeys({"keys", "tokens", "service_accounts", "oci_keys"}));
  Credentials credentials;
  credentials.anonymous_ = false;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> keys, ItemsOf(root, "keys"));
  for (const YamlNode& node : keys) {
    ASSAY_RETURN_IF_ERROR(ReadKey(node, credentials.keys_));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> tokens, ItemsOf(root, "tokens"));
  for (const YamlNode& node : tokens) {
    ASSAY_RETURN_IF_ERROR(ReadToken(node, credentials.tokens_));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> accounts, ItemsOf(root, "service_accounts"));
  for (const YamlNode& node : accounts) {
    ASSAY_ASSIGN_OR_RETURN(ServiceAccount account, ReadServiceAccount(node));
    credentials.service_accounts_.push_back(std::move(account));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> oci_keys, ItemsOf(root, "oci_keys"));
  for (const YamlNode& node : oci_keys) {
    ASSAY_ASSIGN_OR_RETURN(OciKey key, ReadOciKey(node));
    credentials.oci_keys_.push_back(std::move(key));
  }
  return credentials;
}

std::optional<storage::SigV4Secret> Credentials::Find(std::string_view access_key_id) const {
  const auto found = keys_.find(access_key_id);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

bool Credentials::KnowsToken(std::string_view token, double now) const {
  const auto found = tokens_.find(token);
  return found != tokens_.end() && (found->second == 0 || now < found->second);
}

const ServiceAccount* Credentials::FindServiceAccount(std::string_view client_email) const {
  const auto found = std::ranges::find(service_accounts_, client_email, &ServiceAccount::client_email);
  return found == service_accounts_.end() ? nullptr : &*found;
}

const OciKey* Credentials::FindOciKey(std::string_view key_id, double now) const {
  const auto found = std::ranges::find(oci_keys_, key_id, &OciKey::key_id);
  return found == oci_keys_.end() || (found->expires > 0 && now >= found->expires) ? nullptr : &*found;
}

}  // namespace assay::objectserver
