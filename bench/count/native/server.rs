//! A server of HTTP/1.1 with a thread for each connection, whose requests cost what those of the server in Go cost:
//! server ADDRESS PLACE TURNS.
use std::env;
use std::hint::black_box;
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const TURNS: u64 = 100;
const LONGEST_HEAD: usize = 8192;

macro_rules! place {
    ($name:ident, $begin:expr) => {
        #[inline(never)]
        fn $name(mut n: u64) -> u64 {
            let mut x: u64 = $begin;
            while n > 0 {
                x = black_box(x.wrapping_mul(31).wrapping_add(7)); // the compiler leaves each turn as it is
                n = black_box(n - 1);
            }
            x
        }
    };
}
place!(place0, 1);
place!(place1, 2);
place!(place2, 3);
place!(place3, 4);

fn serve(mut conn: TcpStream, place: usize, more: u64) -> Result<()> {
    let places = [place0, place1, place2, place3];
    let mut head = [0; LONGEST_HEAD];
    let mut have = 0;
    loop {
        let got = conn.read(&mut head[have..])?;
        if got == 0 {
            return Ok(());
        }
        have += got;
        if !head[..have].ends_with(b"\r\n\r\n") {
            continue;
        }
        have = 0; // callers wait for their response: nothing follows a head
        let mut sum = 0u64;
        for (i, work) in places.iter().enumerate() {
            sum = sum.wrapping_add(work(black_box(TURNS + if i == place { more } else { 0 })));
        }
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", sum % 10);
        conn.write_all(text.as_bytes())?;
    }
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let listener = TcpListener::bind(&args[1]).expect("listen");
    let place = args[2].parse().expect("PLACE is a number");
    let more = args[3].parse().expect("TURNS is a number");
    for conn in listener.incoming().flatten() {
        thread::spawn(move || serve(conn, place, more));
    }
}
