// For tests: the server's side of TLS, with a certificate of its own making.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "http/scripted_peer.h"

namespace assay::http {

class TlsPeerSocket : public PeerSocket {
 public:
  TlsPeerSocket(FileDescriptor socket, SSL_CTX* context) : PeerSocket(std::move(socket)), ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_, fd());
  }
  ~TlsPeerSocket() override { SSL_free(ssl_); }

  bool Greet() { return SSL_accept(ssl_) == 1; }
  bool Send(std::string_view text) override {
    return SSL_write(ssl_, text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size());
  }
  std::string Receive() override {
    char buffer[4096];
    const int count = SSL_read(ssl_, buffer, sizeof(buffer));
    return count > 0 ? std::string(buffer, static_cast<size_t>(count)) : "";
  }
  void HangUp() override { SSL_shutdown(ssl_); }
  std::string suite() const { return SSL_get_cipher_name(ssl_); }

 private:
  SSL* ssl_;
};

/// A key with a self-signed certificate for `name` ("DNS:localhost", "IP:127.0.0.1"), made anew.
class TlsIdentity {
 public:
  explicit TlsIdentity(const std::string& name)
      : folder_(*TemporaryDirectory::Create("tls-peer")), key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_set_version(certificate_, 2);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), 3600);
    X509_set_pubkey(certificate_, key_);
    X509_NAME* subject = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("peer"), -1, -1, 0);
    X509_set_issuer_name(certificate_, subject);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name.c_str());
    X509_add_ext(certificate_, names, -1);
    X509_EXTENSION_free(names);
    EXPECT_GT(X509_sign(certificate_, key_, EVP_sha256()), 0);
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate_);
    SSL_CTX_use_PrivateKey(context_, key_);
    FILE* file = std::fopen(certificate_file().c_str(), "w");
    EXPECT_EQ(PEM_write_X509(file, certificate_), 1);
    std::fclose(file);
    file = std::fopen(key_file().c_str(), "w");
    EXPECT_EQ(PEM_write_PrivateKey(file, key_, nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(file);
  }
  ~TlsIdentity() {
    SSL_CTX_free(context_);
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  std::string certificate_file() const { return folder_.path() + "/certificate.pem"; }
  std::string key_file() const { return folder_.path() + "/key.pem"; }
  ScriptedPeer::Accept accept() const {
    return [context = context_](FileDescriptor socket) -> std::unique_ptr<PeerSocket> {
      auto peer = std::make_unique<TlsPeerSocket>(std::move(socket), context);
      return peer->Greet() ? std::move(peer) : nullptr;
    };
  }

 private:
  TemporaryDirectory folder_;
  EVP_PKEY* key_;
  X509* certificate_;
  SSL_CTX* context_;
};

}  // namespace assay::http
