# Makes the calls of the service for pages with SOAP::Lite, without the WSDL: types
# on every value, names without a namespace. Usage: client.pl URL. Ends with status
# 0 when everything was as it should be.
use strict;
use warnings;
use utf8;
use SOAP::Lite;

binmode(STDOUT, ':utf8');
binmode(STDERR, ':utf8');
my $ns = 'urn:tidings:v1:PageService';
my $soap = SOAP::Lite->proxy("$ARGV[0]/v1/PageService")->default_ns($ns)->on_action(sub { "$_[0]/$_[1]" })->on_fault(sub { $_[1] });

sub same { my ($got, $want, $what) = @_; ($got // 'nothing') eq ($want // 'nothing') or die "$what: got " . ($got // 'nothing') . ', want ' . ($want // 'nothing') . "\n" }
sub data { my ($name, $value) = @_; SOAP::Data->name($name => $value) }
sub group { my ($name, @members) = @_; SOAP::Data->name($name => \SOAP::Data->value(@members)) }
sub call {
    my $som = $soap->call(@_);
    die $som if !ref $som;
    die $som->faultstring . "\n" if $som->fault;
    return $som->result;
}

sub refused {
    my ($code, @call) = @_;
    my $som = $soap->call(@call);
    $som->fault or die "want $code\n";
    same($som->faultdetail->{ServiceFault}{code}, $code, 'code of the fault');
}

my $title = "Älice <&> \x{1f600} \x{4e2d} ]]>";
same(call('GetServiceInfo')->{service}, 'PageService', 'service');
my $page = call('CreatePage', group('input', data(title => $title)->type('string'), data(rank => -5), data(live => 0)->type('boolean'),
    group('tags', data(item => 'a'), data(item => 'u')), group('hero', group('video', data(url => 'https://example.com/v'), data(seconds => 12.5)))));
for my $got ($page, call('GetPage', data(id => $page->{id})->type('string'))) {
    same($got->{title}, $title, 'title');
    same($got->{rank}, -5, 'rank');
    same($got->{live}, 'false', 'live');
    same($got->{hero}{video}{seconds}, 12.5, 'hero');
    same(join('|', @{ $got->{tags}{item} }), 'a|u', 'tags');
    same($got->{subtitle} || undef, undef, 'subtitle');
}
refused('NOT_FOUND', 'GetPage', data(id => 'nobody')->type('string'));
refused('BAD_USER_INPUT', 'CreatePage', group('input', data(title => 'x' x 201)));
same(call('DeletePage', group('input', data(id => $page->{id})->type('string')))->{id}, $page->{id}, 'deleted page');
print "SOAP::Lite $SOAP::Lite::VERSION made its calls\n";
