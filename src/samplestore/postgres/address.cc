#include "samplestore/postgres/address.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace assay::samplestore {
namespace {

constexpr char kDefaultSchema[] = "assay";
constexpr std::string_view kSchemaParameter = "schema=";

std::string FirstLine(std::string_view text) {
  return std::string(Trim(text.substr(0, text.find('\n'))));
}

/// Takes `schema=NAME` out of the parameters of `url`.
std::string TakeSchema(std::string& url) {
  const size_t question = url.find('?');
  if (question == std::string::npos) {
    return kDefaultSchema;
  }
  std::string schema = kDefaultSchema;
  std::vector<std::string> others;
  for (const std::string& parameter : Split(std::string_view(url).substr(question + 1), '&')) {
    if (parameter.starts_with(kSchemaParameter)) {
      schema = parameter.substr(kSchemaParameter.size());
    } else {
      others.push_back(parameter);
    }
  }
  url.resize(question);
  if (!others.empty()) {
    url += "?" + Join(others, "&");
  }
  return schema;
}

/// What libpq understands of `url`, by keyword.
Result<std::map<std::string, std::string>> Keywords(const std::string& url) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfoParse(url.c_str(), &error),
                                                                             &PQconninfoFree);
  if (!options) {
    std::string text = error == nullptr ? "out of memory" : FirstLine(error);
    PQfreemem(error);
    // The URL, which may hold a password, is not repeated.
    text.resize(std::min(text.size(), text.find(fmt::format(": \"{}\"", url))));
    return Status::InvalidArgument(
        fmt::format("cannot understand the store's URL: {} (a store is postgresql://USER@HOST:PORT/DATABASE)", text));
  }
  std::map<std::string, std::string> keywords;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) {
      keywords[option->keyword] = option->val;
    }
  }
  return keywords;
}

std::string NameOf(std::map<std::string, std::string>& keywords, const std::string& schema) {
  std::string name = "postgresql://";
  if (!keywords["user"].empty()) {
    name += keywords["user"] + "@";
  }
  name += keywords["host"];
  if (!keywords["port"].empty()) {
    name += ":" + keywords["port"];
  }
  name += "/" + keywords["dbname"];
  return schema == kDefaultSchema ? name : fmt::format("{}?schema={}", name, schema);
}

}  // namespace

Result<PostgresAddress> ParsePostgresUrl(const std::string& url) {
  PostgresAddress address{.connection = url, .schema = {}, .name = {}, .file_name = {}};
  address.schema = TakeSchema(address.connection);
  if (address.schema.empty()) {
    return Status::InvalidArgument("the store's URL names an empty schema: give schema=NAME, or leave it out");
  }
  ASSAY_ASSIGN_OR_RETURN(auto keywords, Keywords(address.connection));
  address.name = NameOf(keywords, address.schema);
  address.file_name = address.name.substr(std::string_view("postgresql://").size());
  std::ranges::replace_if(
      address.file_name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return address;
}

std::string QuotedName(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace assay::samplestore
