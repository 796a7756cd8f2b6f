import java.io.*;
import java.math.BigInteger;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.spec.*;
import java.util.*;
import javax.crypto.*;
import javax.security.auth.callback.*;
import javax.xml.parsers.*;
import javax.xml.transform.*;
import javax.xml.transform.dom.*;
import javax.xml.transform.stream.*;
import org.apache.ws.security.*;
import org.apache.ws.security.components.crypto.*;
import org.apache.ws.security.message.*;
import org.apache.xml.security.encryption.*;
import org.w3c.dom.*;

/**
 * Wss4j encrypts message.xml in many ways, each into a file theirs-*.xml, and
 * decrypts each file ours-*.xml into one of its name that ends with .plain. With a
 * URL and a password it calls a service instead: messages are signed and
 * encrypted, and so must be their answers.
 */
public class Wss4j {
    static final String XENC11 = "http://www.w3.org/2009/xmlenc11#";
    static final String WSSE = WSConstants.WSSE_NS;
    static Path dir;
    static Crypto crypto;
    static X509Certificate certificate;

    public static void main(String[] args) throws Exception {
        dir = Paths.get(args[0]);
        WSSConfig.init();
        crypto = crypto();
        if (args.length == 3) {
            call(args[1], args[2], XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP, "<t:title>Fish</t:title>");
            call(args[1], args[2], XENC11 + "aes128-gcm", WSConstants.KEYTRANSPORT_RSAOEP, "<t:title>Chips</t:title>");
            call(args[1], args[2], WSConstants.AES_256, WSConstants.KEYTRANSPORT_RSA15, "<t:title>Old</t:title>");
            call(args[1], args[2], XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP, "<t:titel>Typo</t:titel>");
            return;
        }
        encrypt("issuer-serial", WSConstants.ISSUER_SERIAL, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP);
        encrypt("ski", WSConstants.SKI_KEY_IDENTIFIER, XENC11 + "aes128-gcm", WSConstants.KEYTRANSPORT_RSAOEP);
        encrypt("thumbprint", WSConstants.THUMBPRINT_IDENTIFIER, XENC11 + "aes192-gcm", WSConstants.KEYTRANSPORT_RSAOEP);
        encrypt("x509", WSConstants.X509_KEY_IDENTIFIER, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP);
        encrypt("direct", WSConstants.BST_DIRECT_REFERENCE, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP);
        encrypt("cbc", WSConstants.ISSUER_SERIAL, WSConstants.AES_256, WSConstants.KEYTRANSPORT_RSAOEP);
        encrypt("cbc-rsa15", WSConstants.ISSUER_SERIAL, WSConstants.AES_128, WSConstants.KEYTRANSPORT_RSA15);
        encrypt("gcm-rsa15", WSConstants.ISSUER_SERIAL, XENC11 + "aes128-gcm", WSConstants.KEYTRANSPORT_RSA15);
        encrypt("body-element", WSConstants.ISSUER_SERIAL, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP,
            new WSEncryptionPart("GetUser", "urn:tidings:v1:SocialService", "Element"));
        encrypt("token", WSConstants.ISSUER_SERIAL, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP,
            new WSEncryptionPart("UsernameToken", WSSE, "Element"), new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", "Content"));
        encrypt("header", WSConstants.ISSUER_SERIAL, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP,
            new WSEncryptionPart("Note", "urn:note", "Header"), new WSEncryptionPart("id", "urn:tidings:v1:SocialService", "Content"));
        twice("twice");
        signed("signed", XENC11 + "aes256-gcm", false);
        signed("signed-all", XENC11 + "aes128-gcm", false,
            new WSEncryptionPart("UsernameToken", WSSE, "Element"), new WSEncryptionPart("Signature", WSConstants.SIG_NS, "Element"),
            new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", "Content"));
        signed("signed-cbc", WSConstants.AES_256, false);
        signed("signed-cbc-token", WSConstants.AES_256, false,
            new WSEncryptionPart("UsernameToken", WSSE, "Element"), new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", "Content"));
        signed("signed-after", XENC11 + "aes256-gcm", true);
        for (String digest : new String[] {"sha1", "sha256"}) {
            oaep11(digest);
        }
        try (DirectoryStream<Path> ours = Files.newDirectoryStream(dir, "ours-*.xml")) {
            for (Path p : ours) {
                Document doc = parse(p);
                new WSSecurityEngine().processSecurityHeader(doc, null, password(), crypto);
                write(doc, p.getFileName() + ".plain");
            }
        }
    }

    /** encrypt encrypts for the certificate; without parts the content of the Body. */
    static void encrypt(String name, int identifier, String content, String key, WSEncryptionPart... parts) throws Exception {
        Document doc = parse(dir.resolve("message.xml"));
        write(encrypted(doc, identifier, content, key, parts), "theirs-" + name + ".xml");
    }

    static Document encrypted(Document doc, int identifier, String content, String key, WSEncryptionPart... parts) throws Exception {
        WSSecEncrypt e = new WSSecEncrypt();
        e.setUserInfo("service");
        e.setKeyIdentifierType(identifier);
        e.setSymmetricEncAlgorithm(content);
        e.setKeyEnc(key);
        if (parts.length > 0) {
            e.setParts(Arrays.asList(parts));
        }
        WSSecHeader header = new WSSecHeader();
        header.insertSecurityHeader(doc);
        return e.build(doc, crypto, header);
    }

    /** signed signs Timestamp and Body as the partner, and encrypts before or after. */
    static void signed(String name, String content, boolean encryptFirst, WSEncryptionPart... parts) throws Exception {
        Document doc = parse(dir.resolve("message.xml"));
        WSSecHeader header = new WSSecHeader();
        header.insertSecurityHeader(doc);
        WSSecTimestamp stamp = new WSSecTimestamp();
        stamp.setTimeToLive(300);
        doc = stamp.build(doc, header);
        if (encryptFirst) {
            doc = encrypted(doc, WSConstants.THUMBPRINT_IDENTIFIER, content, WSConstants.KEYTRANSPORT_RSAOEP, parts);
        }
        WSSecSignature s = new WSSecSignature();
        s.setUserInfo("partner", "x");
        s.setKeyIdentifierType(WSConstants.BST_DIRECT_REFERENCE);
        s.setSignatureAlgorithm("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
        s.setDigestAlgo("http://www.w3.org/2001/04/xmlenc#sha256");
        s.setSigCanonicalization("http://www.w3.org/2001/10/xml-exc-c14n#");
        List<WSEncryptionPart> covered = new ArrayList<>();
        covered.add(new WSEncryptionPart("Timestamp", WSConstants.WSU_NS, "Element"));
        covered.add(new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", "Element"));
        if (name.equals("signed-all")) {
            covered.add(new WSEncryptionPart("UsernameToken", WSSE, "Element"));
        }
        s.setParts(covered);
        doc = s.build(doc, crypto, header);
        if (!encryptFirst) {
            doc = encrypted(doc, WSConstants.THUMBPRINT_IDENTIFIER, content, WSConstants.KEYTRANSPORT_RSAOEP, parts);
        }
        write(doc, "theirs-" + name + ".xml");
    }

    /** call creates a post, with a password that nobody can read on the way. */
    static void call(String url, String password, String content, String key, String input) throws Exception {
        Files.writeString(dir.resolve("call.xml"), "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:t=\"urn:tidings:v1:SocialService\"><s:Body>"
            + "<t:CreatePost><t:input>" + input + "</t:input></t:CreatePost></s:Body></s:Envelope>");
        Document doc = parse(dir.resolve("call.xml"));
        WSSecHeader header = new WSSecHeader();
        header.insertSecurityHeader(doc);
        WSSecUsernameToken token = new WSSecUsernameToken();
        token.setPasswordType(WSConstants.PASSWORD_TEXT);
        token.setUserInfo("erp", password);
        doc = token.build(doc, header);
        WSSecTimestamp stamp = new WSSecTimestamp();
        stamp.setTimeToLive(300);
        doc = stamp.build(doc, header);
        WSEncryptionPart user = new WSEncryptionPart("UsernameToken", WSSE, "Element");
        WSEncryptionPart signature = new WSEncryptionPart("Signature", WSConstants.SIG_NS, "Element");
        WSSecSignature s = new WSSecSignature();
        s.setUserInfo("partner", "x");
        s.setKeyIdentifierType(WSConstants.THUMBPRINT_IDENTIFIER);
        s.setSignatureAlgorithm("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
        s.setDigestAlgo("http://www.w3.org/2001/04/xmlenc#sha256");
        s.setParts(Arrays.asList(user, new WSEncryptionPart("Timestamp", WSConstants.WSU_NS, "Element"), new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", "Element")));
        doc = s.build(doc, crypto, header);
        doc = encrypted(doc, WSConstants.ISSUER_SERIAL, content, key, user, signature, new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", "Content"));

        write(doc, "call.xml");
        java.net.HttpURLConnection http = (java.net.HttpURLConnection) new java.net.URL(url).openConnection();
        http.setDoOutput(true);
        http.setRequestProperty("Content-Type", "text/xml; charset=utf-8");
        try (OutputStream out = http.getOutputStream()) {
            Files.copy(dir.resolve("call.xml"), out);
        }
        try (InputStream in = http.getResponseCode() == 200 ? http.getInputStream() : http.getErrorStream()) {
            Files.copy(in, dir.resolve("answer.xml"), StandardCopyOption.REPLACE_EXISTING);
        }
        Document answer = parse(dir.resolve("answer.xml"));
        int done = 0;
        List<WSSecurityEngineResult> results = new WSSecurityEngine().processSecurityHeader(answer, null, password(), crypto);
        if (results == null) {
            throw new Exception("the answer has no Security header: " + Files.readString(dir.resolve("answer.xml")));
        }
        for (WSSecurityEngineResult r : results) {
            done |= (Integer) r.get(WSSecurityEngineResult.TAG_ACTION);
        }
        if ((done & WSConstants.SIGN) == 0 || (done & WSConstants.ENCR) == 0 || (done & WSConstants.TS) == 0) {
            throw new Exception("the answer is not signed, not encrypted or without a Timestamp: " + Files.readString(dir.resolve("answer.xml")));
        }
        System.out.println(answer.getDocumentElement().getTextContent());
    }

    /** twice encrypts what is encrypted already. */
    static void twice(String name) throws Exception {
        Document doc = parse(dir.resolve("message.xml"));
        encrypted(doc, WSConstants.ISSUER_SERIAL, XENC11 + "aes256-gcm", WSConstants.KEYTRANSPORT_RSAOEP,
            new WSEncryptionPart("id", "urn:tidings:v1:SocialService", "Content"));
        write(encrypted(doc, WSConstants.ISSUER_SERIAL, XENC11 + "aes128-gcm", WSConstants.KEYTRANSPORT_RSAOEP), "theirs-" + name + ".xml");
    }

    /**
     * oaep11 encrypts with the RSA-OAEP of XML Encryption 1.1, of which WSS4J 1.6
     * knows nothing, by the library under it.
     */
    static void oaep11(String digest) throws Exception {
        Document doc = parse(dir.resolve("message.xml"));
        String digestURI = digest.equals("sha1") ? "http://www.w3.org/2000/09/xmldsig#sha1" : "http://www.w3.org/2001/04/xmlenc#sha256";
        Key key = new javax.crypto.spec.SecretKeySpec(new SecureRandom().generateSeed(32), "AES");
        XMLCipher wrap = XMLCipher.getInstance(XENC11 + "rsa-oaep", null, digestURI);
        wrap.init(XMLCipher.WRAP_MODE, certificate.getPublicKey());
        EncryptedKey ek = wrap.encryptKey(doc, key, XENC11 + "mgf1" + digest, digest.equals("sha1") ? null : "a label".getBytes());
        ek.setId("EK-1");
        ReferenceList list = wrap.createReferenceList(ReferenceList.DATA_REFERENCE);
        list.add(list.newDataReference("#ED-1"));
        ek.setReferenceList(list);
        Element keyElement = wrap.martial(doc, ek);

        XMLCipher cipher = XMLCipher.getInstance(XENC11 + "aes256-gcm");
        cipher.init(XMLCipher.ENCRYPT_MODE, key);
        cipher.getEncryptedData().setId("ED-1");
        Element body = (Element) doc.getElementsByTagNameNS("http://schemas.xmlsoap.org/soap/envelope/", "Body").item(0);
        cipher.doFinal(doc, body, true);
        doc.getElementsByTagNameNS(WSSE, "Security").item(0).appendChild(keyElement);
        write(doc, "theirs-oaep11-" + digest + ".xml");
    }

    static Crypto crypto() throws Exception {
        certificate = certificate("certificate.der");
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry("service", key("key.der"), "x".toCharArray(), new java.security.cert.Certificate[] {certificate});
        store.setKeyEntry("partner", key("partner.key"), "x".toCharArray(), new java.security.cert.Certificate[] {certificate("partner.crt")});
        Merlin merlin = new Merlin();
        merlin.setKeyStore(store);
        return merlin;
    }

    static X509Certificate certificate(String file) throws Exception {
        return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(Files.readAllBytes(dir.resolve(file))));
    }

    static PrivateKey key(String file) throws Exception {
        return KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Files.readAllBytes(dir.resolve(file))));
    }

    static CallbackHandler password() {
        return callbacks -> {
            for (Callback c : callbacks) {
                ((WSPasswordCallback) c).setPassword("x");
            }
        };
    }

    static Document parse(Path p) throws Exception {
        DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
        f.setNamespaceAware(true);
        return f.newDocumentBuilder().parse(p.toFile());
    }

    static void write(Document doc, String name) throws Exception {
        Transformer t = TransformerFactory.newInstance().newTransformer();
        t.setOutputProperty("omit-xml-declaration", "yes");
        t.transform(new DOMSource(doc), new StreamResult(dir.resolve(name).toFile()));
    }
}
